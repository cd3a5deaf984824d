"""Given names of English texts, and the syllables of Pinyin: what tells a person from other words with capital letters."""

from __future__ import annotations

import re

from wenyuan.core.redaction.commonness import commonness

GIVEN = frozenset(
    """Aaron Abigail Abraham Ada Adam Adele Adrian Adriana Agnes Ahmed Aidan Aisha Alan Alana Albert Alejandro Alex Alexander Alexandra Alexis
    Alfred Ali Alice Alicia Alina Alison Allan Allen Allison Alyssa Amanda Amara Amelia Amir Amy Ana Andre Andrea Andreas Andrew Andy Angela
    Angelica Anita Anna Anne Annette Annie Anthony Antoine Anton Antonio Archie Ariana Arnold Arthur Arturo Ashley Astrid Audrey Austin Barbara
    Barry Beatrice Beatrix Becky Ben Benedict Benjamin Bernadette Bernard Bernice Bert Beth Bethany Betty Beverly Bianca Blake Bob Bobby Bonnie Boris
    Brad Bradley Brandon Brenda Brendan Brent Brett Brian Bridget Brigitte Bruce Bruno Bryan Caitlin Caleb Calvin Cameron Camilla Candice Carl
    Carla Carlos Carmen Carol Caroline Carolyn Carrie Carter Casey Cassandra Catherine Cathy Cecilia Cedric Charlene Charles Charlie Charlotte
    Chloe Chris Christian Christina Christine Christoph Christopher Cindy Claire Clara Clarence Claudia Clayton Clifford Clive Clyde Cody Colin Colleen
    Connor Conrad Constance Corey Cornelia Craig Cressida Crystal Curtis Cynthia Daisy Damian Dan Dana Daniel Daniela Danielle Danny Daphne Darius Darren
    David Dawn Dean Deborah Debra Deirdre Delia Denise Dennis Derek Dermot Desmond Diana Diane Diego Dieter Dimitri Dina Dmitri Dolores Dominic Donald Donna
    Dora Doreen Doris Dorothy Doug Douglas Duncan Dustin Dwayne Dylan Eamon Ebony Eddie Edgar Edith Edmund Eduardo Edward Edwin Eileen Elaine Eleanor
    Elena Eli Elias Elijah Elisa Elise Elizabeth Ella Ellen Elliot Elliott Elsie Elspeth Emil Emilia Emilio Emily Emma Emmanuel Enrique Eric Erica Erik Erika
    Erin Ernest Esme Esther Ethan Ethel Eugene Eva Evan Evelyn Fabian Fatima Felicia Felicity Felipe Felix Ferdinand Fernando Finn Fiona Flora Florence Frances
    Francesca Francis Francisco Francois Frank Franklin Franz Fraser Freda Frederick Frederik Freya Friedrich Gabriel Gabriela Gareth Garrett Gary Gavin Gemma Gene
    Geoffrey George Georgia Georgina Gerald Geraldine Gerard Gertrude Giles Gillian Gina Giovanni Gladys Glen Glenn Gloria Gordon Grace Graham Grant
    Greg Gregory Greta Guillermo Gustav Guy Gwen Gwendolyn Hamish Hannah Hans Harold Harriet Harry Harvey Hassan Hazel Heather Hector Heidi Helen Helena Helmut
    Henrietta Henrik Henry Herbert Herman Hilary Hilda Holly Horace Howard Hubert Hugh Hugo Ian Ibrahim Ida Imogen Ines Ingrid Irene Iris Irma Isaac Isabel
    Isabella Isla Ivan Ivy Jack Jackie Jackson Jacob Jacqueline Jade Jaime Jake James Jamie Jan Jane Janet Janice Jared Jasmine Jason Javier Jay Jean
    Jeanette Jeff Jeffrey Jenna Jennifer Jenny Jeremy Jerome Jerry Jesse Jessica Jill Jim Jimmy Joan Joanna Joanne Jodie Joe Joel Johan Johanna John Johnny
    Jonah Jonas Jonathan Jordan Jorge Jose Josef Joseph Josephine Josh Joshua Joyce Juan Juanita Judith Judy Julia Julian Juliana Julie Juliet
    Julio Justin Justine Karen Karim Karin Karl Karla Kate Katharina Katherine Kathleen Kathryn Kathy Katie Katrina Kay Keith Kelly Ken Kenneth Kerry Kevin
    Khalid Kieran Kim Kimberly Kirsten Kristen Kristin Kristina Kurt Kyle Lara Larry Laura Lauren Laurence Lawrence Leah Leanne Lee Leila Lena
    Leo Leon Leonard Leonardo Leroy Lesley Leslie Lewis Liam Lilian Lillian Lily Linda Lindsay Lionel Lisa Liz Lloyd Logan Lois Lorna Lorraine Louis
    Louise Lucas Lucia Lucy Luis Luisa Lukas Luke Lydia Lynn Mabel Madeleine Madison Magnus Malcolm Manuel Marc Marcel Marcia Marco Marcus Margaret Margarita
    Maria Mariana Marianne Marie Marilyn Marina Mario Marion Marjorie Marlene Marlon Marshall Martha Martin Martina Marvin Mary Mateo Mathew Mathilda Matilda
    Matt Matteo Matthew Maureen Maurice Max Maxim Maxine Maya Megan Mehmet Melanie Melinda Melissa Melody Mercedes Meredith Mervyn Mia Michael Michaela
    Michele Michelle Miguel Mikhail Mildred Miles Millicent Millie Milton Mindy Minnie Miranda Miriam Mitchell Mohamed Mohammed Moira Molly Mona Monica
    Monique Morgan Morris Moses Muhammad Muriel Murray Myra Nadia Nadine Nancy Naomi Natalia Natalie Natasha Nathan Nathaniel Neil Nelson Niall Nicholas Nick Nicola
    Nicolas Nicole Nigel Nikita Nikolai Nina Noah Noel Nora Noreen Norma Norman Odette Olga Oliver Olivia Ollie Omar Oscar Osman Oswald Otis Ottilie Otto
    Owen Pablo Pamela Pascal Pat Patience Patricia Patrick Paul Paula Pauline Pawel Pearl Pedro Peggy Penelope Percy Peter Petra Phil Philip Philippa Phillip
    Phoebe Phyllis Pierre Piers Polly Priscilla Priya Quentin Quincy Rachel Rafael Raj Ralph Ramon Randall Randolph Raquel Raul Raymond Rebecca Reggie Regina
    Reginald Renata Rene Renee Rhoda Rhys Ricardo Richard Rick Rita Rob Robert Roberta Roberto Robin Rochelle Roderick Rodney Roger Roland Rolf Roman
    Ron Ronald Rory Rosalind Rosamund Rosario Rosemary Rosie Ross Roxanne Roy Ruben Rudolf Rufus Rupert Russell Ruth Ryan Sabrina Sadie Sally Salvador Samantha
    Samir Samuel Sandra Sanjay Sara Sarah Sasha Saul Scott Sean Sebastian Selina Serena Sergei Sergio Seth Shannon Sharon Shaun Shawn Sheila Shelley
    Sherry Shirley Sibyl Sidney Sigrid Silas Silvia Simon Simone Sofia Sonia Sonja Sophia Sophie Spencer Stacey Stanislav Stanley Stefan Stefanie Stella Stephan Stephanie
    Stephen Steve Steven Stewart Stuart Susan Susanna Susanne Suzanne Sven Sybil Sylvia Tabitha Tamara Tanya Tara Tatiana Ted Terence Teresa Terrence Terry
    Theodora Theodore Theresa Thomas Thorsten Tim Timothy Tina Tobias Todd Tom Tomas Tommy Toni Tony Tracey Tracy Travis Trevor Tristan Trudy Tyler Ulrich
    Una Ursula Valentina Valerie Vanessa Vera Vernon Veronica Vicky Victoria Vikram Vincent Viola Violet Virginia Vivian Vivienne Vladimir Wallace
    Walter Wanda Warren Wayne Wendell Wendy Werner Wilbur Wilfred Wilhelm Will William Winifred Winston Xavier Yasmin Yolanda Yusuf Yves Yvonne Zachary Zara Zoe""".split()
)
AMBIGUOUS = frozenset(
    """Austin Blake Carmen Carter Chris Christian Crystal Daisy Dawn Dean Drew Ebony Florence Frank Gene Georgia Grace Grant Guy Hazel Holly Iris Ivy Jack Jackson
    Jade Jasmine Jay Jordan Josh Kay Ken Kim Lee Leslie Lily Logan Madison Marshall Max Maxim Melody Mercedes Miles Milton Mitchell Morgan Morris Moses Murray Nelson Pat
    Patience Pearl Regina Robin Roman Rosemary Ross Roy Ruth Sandra Scott Sean Sidney Spencer Stanley Stella Ted Tyler Victoria Viola Violet Virginia Wallace Warren Wayne
    Will Winston Bob Bill Rob Jan Dan Don Ray Art Mark Rose Faith Hope Joy June April May Summer Angel Alexandra Elizabeth Charlotte Bruno Salvador Sofia Lourdes Paris
    Chelsea Brooklyn Jesse James Charles George Bernard Benedict Francis Louis Philip Oscar Nobel Wilhelm Franklin Lloyd Vernon""".split()
)
"""Those that are words, places or brands as well: they need something else that speaks of a person."""

_SYLLABLE = "(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])?(?:iang|iong|uang|ueng|ang|eng|ing|ong|ian|iao|uai|uan|ai|ei|ao|ou|an|en|in|un|ia|ie|iu|ua|uo|ui|ue|er|[aeiou])"
SURNAMES = frozenset(
    """Bai Bao Cai Cao Chang Chen Cheng Cui Dai Deng Ding Dong Du Duan Fan Fang Feng Fu Gao Ge Gong Gu Guan Guo Han Hao He Hong Hou Hu Hua Huang
    Jia Jiang Jin Kang Kong Lai Lei Li Liang Liao Lin Liu Long Lu Luo Lyu Lv Ma Mao Mei Meng Mo Mu Ni Niu Ouyang Pan Pang Pei Peng Qi Qian Qiao Qin Qiu
    Qu Ren Shang Shao Shen Shi Situ Sima Song Su Sun Tan Tang Tao Tian Tu Wan Wang Wei Wen Wu Xia Xiang Xiao Xie Xing Xiong Xu Xue Yan Yang Yao Ye Yi Yin You Yu
    Yuan Yue Yun Zeng Zhai Zhan Zhang Zhao Zheng Zhong Zhou Zhu Zhuang Zou Zuo Zhuge""".split()
)
_PINYIN_GIVEN = re.compile(rf"{_SYLLABLE}(?:['’\-]?{_SYLLABLE})?", re.IGNORECASE)
_TWO_SYLLABLES = re.compile(rf"{_SYLLABLE}['’\-]?{_SYLLABLE}", re.IGNORECASE)
_TONED = re.compile("[üÜ]")
_PINYIN_WORDS = frozenset(
    "Can Run Ran Fan Pan Ban Ten Den Men Long Song Man Fun Gun Sun Bin Chin Shin Ping Ling Ding Wing King Ring Ming Hong Gang Bang Tang Sang Rang Hang Fang Pin Tin Win Din Kin"
    " Bun Dun Nun Tan Dan Van Wan Lane Line Gate Hai He She You Me Be We Ha Ho Lu La Do To Go So No Ma Pa An In On Era Age Due Sue Hue Die Lie Pie Tie".split()
)

_ENGLISH_WORDS = frozenset("Long You He Pan Song Sun Tan Fan Hang Wan Yin Du Lei Mu Mo Mao Ran".split())


_NO_PEOPLE = frozenset(
    """Hong Kong|Tai Chi|Dim Sum|Feng Shui|Chang Jiang|Huang He|Xi An|Wang Laoji|Li Ning|Yin Yang|Ding Dong|Ping Pong|Bei Jing|Shang Hai|Tian Jin|Chong Qing|Shan Dong|Shan Xi|He Nan|He Bei|Hu Nan|Hu Bei|Hai Nan|Jiang Su|Jiang Xi|Zhe Jiang|Fu Jian
    |Guang Dong|Guang Xi|Yun Nan|Gan Su|Qing Hai|Ning Xia|Xin Jiang|Tai Wan|Shen Zhen|Guang Zhou|Hang Zhou|Su Zhou|Wu Xi|Wu Han|Nan Jing|Qing Dao|Xia Men|Cheng Du|Da Lian|Ning Bo|Zheng Zhou|Chang Sha|Mao Tai|Hua Wei|Jin Mao|Lan Lan|Kung Fu|Wu Tang|Wu Shu|Qi Gong
    |Ma Po|Tang Yuan|Bai Jiu|Yu Yuan|Hai Tian|Tian Tan|Xin Hua|Min Sheng""".replace("\n    ", "").split("|")
)  # fmt: skip
_A_WORD = 2.0  # see `commonness`
SURE, LIKELY, POSSIBLE = 3.0, 2.2, 1.5
"""Points of Pinyin: no word of English; either might be one; both might, or the surname stands behind."""


def pinyin_points(words: list[str]) -> float:
    """What two words say for a Chinese name in Pinyin, in either order: ``Zhang Wei``, ``ZHANG Wei``, ``Guihua Pan``; 0: they are none."""
    if len(words) != 2 or " ".join(words).title() in _NO_PEOPLE:  # a surname and a given name
        return 0.0
    return max(_in_order(words[0], words[1]), _in_order(words[1], words[0]) - 0.3)


def is_pinyin(words: list[str]) -> bool:
    """Whether words are most probably a Chinese name in Pinyin, by themselves."""
    return pinyin_points(words) >= LIKELY


def _in_order(surname: str, given: str) -> float:
    capitals = surname.isupper() and len(surname) > 1
    plain = _TONED.sub("u", surname).title()
    if plain not in SURNAMES or not given.istitle() or not _PINYIN_GIVEN.fullmatch(given):
        return 0.0
    if capitals:
        return SURE if plain not in _ENGLISH_WORDS or not commonness(given) else LIKELY
    if _TWO_SYLLABLES.fullmatch(given) and not commonness(given):
        return SURE
    english = plain in _ENGLISH_WORDS
    common = commonness(given) >= _A_WORD
    if english and common and _TWO_SYLLABLES.fullmatch(given):
        return 0.0  # Long Time
    return (SURE, LIKELY, POSSIBLE)[english + (given in _PINYIN_WORDS or (english and common))]
