"""Surnames and further given names in Latin letters, of many countries, and how surnames end."""

from __future__ import annotations

import re

WORLD = frozenset(
    """Aarav Abdul Abdullah Abena Abhishek Adaeze Adebayo Adeola Aditi Aditya Agnieszka Aiko Ajay Akash Akira Akosua Aleksandra Aleksei Alessandra Alessandro Alessia Alfonso Alfredo
    Alisha Alistair Alastair Alok Alvaro Amal Amina Amit Amrita Anand Ananya Anastasia Anders Andrei Andrzej Angus Anil Anjali Ankit Anneke Annika Anouk Antoinette Antonella Antonia Anusha
    Anya Arash Arjun Armando Arne Arun Asha Ashok Asif Attila Aurelie Ayesha Ayumi Babak Balazs Barnaby Bartosz Beata Bence Bente Bhavna Birgit Bjorn Bogdan Boleslaw Bongani Brigid Bronwyn
    Callum Camille Carina Carolina Catalina Cathal Celine Cesar Chandra Chiamaka Chiara Chidi Chinedu Chinwe Chloé Christophe Ciara Ciaran Clement Cristian Cristina Dagmar Dariusz Davide Declan
    Deepa Deepak Deepika Delphine Devika Dhruv Dilip Dinesh Dorota Dougal Ebele Efua Eirik Ekaterina Elif Elke Emeka Emer Emre Enzo Esra Esteban Etienne Eunice Ewa Ezra Farah Farhan Faisal Fatou Federica
    Federico Femi Fergus Feng Filip Florian Folake Francine Frida Friederike Funmi Gabor Gael Ganesh Gaurav Geeta Genevieve Giorgio Giulia Giulio Giuseppe Goran Grzegorz Guadalupe Guido Gunnar Gunther
    Gurpreet Hadiza Hamid Hana Haruka Haruto Hattie Hiroko Hiroshi Hussein Ifeoma Ignacio Ilona Imran Indira Iqbal Isabelle Ishaan Istvan Ivana Ivo Iwona Jakub Jamal Jana Janek Janos Jarek Jasmin Javed
    Jelena Jens Jesper Jessie Jitendra Joaquin Jolanta Jolene Jorgen Jozef Julien Jun Jurgen Kaito Kalpana Kamal Kamala Karolina Katarina Katarzyna Katerina Kavita Kavya Kazuki Keisha Kenji Kerstin Khadija
    Kiran Klaus Klara Kofi Kojo Krishna Krystyna Krzysztof Kumar Kunal Kwabena Kwame Kwasi Lakshmi Lars Latisha Laszlo Laurent Leandro Leif Leopold Lerato Leticia Levi Ligia Liv Ljubica Lorenzo Lotte Luca Luciana
    Luciano Ludmila Ludovic Luigi Lwazi Maciej Maddison Maeve Magdalena Mahesh Maja Malik Mandla Manfred Manish Manoj Manuela Marcin Marek Mariam Marisol Marta Marzena Massimo Mateusz Mathieu Matthias Mauricio
    Mayumi Meera Mehdi Meike Mercy Mette Michal Milan Milena Milica Mina Mirko Mohammad Mohit Moritz Mostafa Mpho Mungo Nabil Nadeem Naledi Nasreen Natalya Navin Neha Nenad Ngozi Nia Nicolò Niels Niklas Nikhil Nikola
    Nilesh Nirmala Nisha Nkechi Noor Noura Obinna Oksana Oleg Oleksandr Oluwaseun Oluwole Omer Oriol Orla Osama Ovidiu Oyin Padraig Paola Paolo Patrizia Paulina Paulo Pavel Piotr Pieter Pilar Pooja Prakash Pranav
    Prashant Pratik Praveen Preeti Radek Radhika Rafal Raheem Rahul Rajesh Rajiv Rakesh Rania Rashid Rashmi Ravi Reinhard Reza Riccardo Rohan Rohit Rosa Roza Ruchi Rukmini Rustam Sachin Saeed Sakura Salim Salma Samira Sandeep
    Sanjana Santiago Santosh Sapna Saskia Satoshi Savita Shabnam Shahid Shalini Shanice Shankar Shreya Shweta Sibusiso Siddharth Sindre Sinead Siobhan Sipho Slawomir Snehal Solveig Soren Srinivas Stavros Stephane Steffen
    Subhash Sudha Sudhir Sumit Sunil Sunita Suresh Sushma Svetlana Swati Sylvie Sylwia Tadeusz Takeshi Tamas Tanvi Tariq Tatsuya Temitope Thabo Thandi Thandiwe Thierry Tilda Tiziana Tobiasz Tomasz Tomoko Tove Tunde Uche Umar
    Urszula Usha Uwe Valeria Valerio Vandana Varun Vasile Vasily Vesna Vijay Vikas Vinay Vincenzo Vinod Violeta Vivek Vusi Wafa Waleed Wioletta Witold Wojciech Xander Ximena Yakub Yana Yannick Yasmine Yewande Yogesh Yoko
    Yosef Youssef Yui Yuki Yuko Yuri Yuto Yvette Zainab Zanele Zbigniew Zdenek Zeynep Zofia Zoltan Zsofia Zuzana Zlatan Shanelle Tyrone Darnell Jamila Latoya Demetrius Rashida Alonzo Lamar Tamika
    Abby Barney Bernie Betsy Bill Billy Chuck Dave Debbie Derrick Dick Dirk Ernie Fred Freddie Gail Hank Herb Jodi Judd Kara Kari Kristi Kristine Lance Lenny Leroy Lindsey Lori Lou Mandy Marcy Marge Margie Mel Mickey Mike Mitch
    Nate Ned Nellie Nikki Norm Patsy Patti Patty Peg Ralph Randy Ricky Rod Ronnie Rusty Sal Sam Sandy Sheri Sherri Sid Skip Sonny Stan Stu Sue Susie Tammy Terri Trish Val Vic Vince Walt Wes Willie
    Angelo Antoni Bradford Brendon Bryce Carlton Cecil Chad Clark Clint Cole Dale Darrell Darryl Daryl Dexter Dion Don Drake Duane Earl Elmer Elton Elvis Everett Floyd Forrest Gage Gerry Gilbert Gil Grady Heath Homer Howell
    Ike Ira Irving Jarvis Jed Jeffery Jerald Jermaine Jess Kirk Kristopher Lamont Lawson Levi Lyle Lyndon Marty Merle Monty Morton Myron Neal Norbert Orlando Orville Perry Preston Quinn Reed Rex Rodolfo Rolando Ruby Sanford
    Sherman Sylvester Taylor Terrance Thurman Tobin Vaughn Virgil Waldo Weldon Wiley Wilmer Woodrow Zachariah Avery Riley Parker Hunter Skylar Mackenzie Kayla Hailey Brianna Makayla Destiny Savannah Sierra Kaitlyn Jocelyn
    Angelina Annabelle Aria Aurora Autumn Ava Avril Bella Brooke Carly Celeste Chantal Corinne Dahlia Darlene Delilah Della Eloise Elsa Estelle Eunice Evangeline Fern Gabrielle Gretchen Gwyneth Ilse Inga Ione Iona Isadora Jemima
    Jolie Josie Juno Justina Katelyn Kathrine Keira Kelsey Kendra Kiera Kimberley Lana Larissa Laurel Leona Lexi Lila Lilly Lola Luna Lyra Maggie Maisie Mara Margot Marian Marla Maude Mavis Millie Mina Nadia Nell Nelly Nova Octavia Ophelia Paige
    Paloma Pansy Petunia Philomena Pippa Portia Primrose Ramona Rebekah Rosalie Rosalyn Rowan Roxana Sabina Saffron Salome Saoirse Selma Shauna Shona Siena Tabatha Tallulah Tess Tessa Thelma Tiffany Trinity Ulla Ursa Velma Verity Willa Willow Winona Zelda""".split()
)
"""Given names besides `given_names.GIVEN`."""

FAMILY = frozenset(
    """Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis Robinson
    Walker Young Allen King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall Rivera Campbell Mitchell Carter Roberts Gomez Phillips Evans Turner Diaz Parker Cruz Edwards Collins Reyes Stewart Morris Morales
    Murphy Cook Rogers Gutierrez Ortiz Morgan Cooper Peterson Bailey Reed Kelly Howard Ramos Kim Cox Ward Richardson Watson Brooks Chavez Wood James Bennett Gray Mendoza Ruiz Hughes Price Alvarez Castillo Sanders Patel Myers Long
    Ross Foster Jimenez Powell Jenkins Perry Russell Sullivan Bell Coleman Butler Henderson Barnes Gonzales Fisher Vasquez Simmons Romero Jordan Patterson Alexander Hamilton Graham Reynolds Griffin Wallace Moreno West Cole Hayes
    Bryant Herrera Gibson Ellis Tran Medina Aguilar Stevens Murray Ford Castro Marshall Owens Harrison Fernandez Woods Washington Kennedy Wells Vargas Henry Chen Freeman Webb Tucker Guzman Burns Crawford Olson Simpson Porter Hunter
    Gordon Mendez Silva Shaw Snyder Mason Dixon Munoz Hunt Hicks Holmes Palmer Wagner Black Robertson Boyd Rose Stone Salazar Fox Warren Mills Meyer Rice Schmidt Garza Daniels Ferguson Nichols Stephens Soto Weaver Ryan Gardner Payne
    Grant Dunn Kelley Spencer Hawkins Arnold Pierce Hansen Peters Santos Hart Bradley Knight Elliott Cunningham Duncan Armstrong Hudson Carroll Lane Riley Andrews Alvarado Ray Delgado Berry Perkins Hoffman Johnston Matthews Pena
    Richards Contreras Willis Carpenter Lawrence Sandoval Guerrero George Chapman Rios Estrada Ortega Watkins Greene Nunez Wheeler Valdez Harper Burke Larson Santiago Maldonado Morrison Franklin Carlson Austin Dominguez Carr Lawson
    Jacobs Obrien Lynch Singh Vega Bishop Montgomery Oliver Jensen Harvey Williamson Gilbert Dean Sims Espinoza Howell Li Wong Reid Hanson Le McCoy Garrett Burton Fuller Wang Weber Welch Rojas Lucas Marquez Fields Park Yang Little
    Banks Padilla Day Walsh Bowman Schultz Luna Fowler Mejia Davidson Acosta Brewer May Holland Juarez Newman Pearson Curtis Cortez Douglas Schneider Joseph Barrett Navarro Figueroa Keller Avila Wade Molina Stanley Hopkins Campos Barnett
    Bates Chambers Caldwell Beck Lambert Miranda Byrd Craig Ayala Lowe Frazier Powers Neal Leonard Gregory Carrillo Sutton Fleming Rhodes Shelton Schwartz Norris Jennings Rios Watts Duran Walters Cohen Mcdaniel Moran Parks Steele Vaughn
    Becker Holt Deleon Barker Terry Hale Leon Hail Benson Haynes Horton Miles Lyons Pham Graves Bush Thornton Wolfe Warner Cabrera Mckinney Mann Zimmerman Dawson Lara Fletcher Page McCarthy Love Robles Cervantes Solis Erickson Reeves Chang Klein
    Salinas Fuentes Baldwin Daniel Simon Velasquez Hardy Higgins Aguirre Lin Cummings Chandler Sharp Barber Bowen Ochoa Dennis Robbins Liu Ramsey Francis Griffith Paul Blair Oconnor Cardenas Pacheco Cross Calderon Quinn Moss Swanson Chan Rivas
    Khan Rodgers Serrano Fitzgerald Rosales Stevenson Christensen Manning Gill Curry McLaughlin Harmon McGee Gross Doyle Garner Newton Burgess Reese Walton Blake Trujillo Adkins Brady Goodman Roman Webster Goodwin Fischer Huang Potter Delacruz
    Montoya Todd Wu Hines Mullins Castaneda Malone Cannon Tate Mack Sherman Hubbard Hodges Zhang Guerra Wolf Valencia Saunders Franco Rowe Gallagher Farmer Hammond Hampton Townsend Ingram Wise Gallegos Clarke Barton Schroeder Maxwell Waters Logan Camacho
    Strickland Norman Person Colon Parsons Frank Harrington Glover Osborne Buchanan Casey Floyd Patton Ibarra Ball Tyler Suarez Bowers Orozco Salas Cobb Gibbs Andrade Bauer Conner Moody Escobar Mcguire Lloyd Mueller Hartman French Kramer McBride Pope
    Lindsey Velazquez Norton Mccormick Sparks Flynn Yates Hogan Marsh Macias Villanueva Zamora Pratt Stokes Owen Ballard Lang Brock Villarreal Charles Drake Barrera Cain Patrick Pineda Burnett Mercado Santana Shepherd Bautista Ali Shaffer Lamb Trevino
    Hess Beil Olsen Cochran Morton Nash Wilkins Petersen Briggs Shah Roth Nicholson Holloway Lozano Rangel Flowers Hoover Short Arias Mora Valenzuela Bryan Meyers Weiss Underwood Bass Greer Summers Houston Carson Morrow Clayton Whitaker Decker Yoder Collier
    Zuniga Carey Wilcox Melendez Poole Roberson Larsen Conley Davenport Copeland Massey Lam Huff Rocha Cameron Jefferson Hood Monroe Anthony Pittman Huynh Randall Singleton Kirk Combs Mathis Christian Skinner Bradford Richard Galvan Wall Boone Kirby Wilkinson
    Bridges Bruce Atkinson Velez Meza Roy Vincent York Hodge Villa Abbott Allison Tapia Gates Chase Sosa Sweeney Farrell Wyatt Dalton Horn Barron Phelps Yu Dickerson Heath Foley Atkins Mathews Bonilla Acevedo Benitez Zavala Hensley Glenn Cisneros Harrell Shields
    Rubio Choi Huffman Boyer Garrison Arroyo Bond Kane Hancock Callahan Dillon Cline Wiggins Grimes Arellano Melton Oneill Savage Ho Beltran Pitts Parrish Ponce Rich Booth Koch Golden Ware Brennan Mcdowell Marks Cantu Humphrey Baxter Sawyer Clay Tanner Hutchinson
    Kaur Berg Wiley Gilmore Russo Villegas Hobbs Keith Wilkerson Ahmed Beard Mcclain Montes Mata Rosario Vang Walter Henson Oneal Mosley Mcclure Beasley Stephenson Snow Huerta Preston Vance Barry Johns Eaton Blackwell Dyer Prince Macdonald Solomon Guevara Stafford
    English Hurst Woodard Cortes Shannon Kemp Nolan McCullough Merritt Murillo Moon Salgado Strong Kline Cordova Barajas Roach Rosas Winters Jacobson Lester Knox Bullock Kerr Leach Meadows Orr Davila Whitehead Pruitt Kent Conway Mckee Barr David Dejesus Marin Berger
    Mcintyre Blankenship Gaines Palacios Cuevas Bartlett Durham Dorsey Mccall Odonnell Stein Browning Stout Lowery Sloan Mclean Hendricks Calhoun Sexton Chung Gentry Hull Duarte Ellison Nielsen Gillespie Buck Middleton Sellers Leblanc Esparza Hardin Bradshaw Mcintosh
    Howe Livingston Frost Glass Morse Knapp Herman Stark Bravo Noble Spears Weeks Corona Frederick Buckley Mcfarland Hebert Enriquez Hickman Quintero Randolph Schaefer Walls Trejo House Reilly Pennington Michael Conrad Giles Benjamin Crosby Fitzpatrick Donovan Mays Mahoney
    Valentine Raymond Medrano Hahn McMillan Small Bentley Felix Peck Lucero Boyle Hanna Pace Rush Hurley Harding McConnell Bernal Nava Ayers Everett Ventura Avery Pugh Mayer Bender Shepard McMahon Landry Case Sampson Moses Magana Blackburn Dunlap Gould Duffy Vaughan
    Herring McKay Espinosa Rivers Farley Bernard Ashley Friedman Potts Truong Costa Correa Blevins Nixon Clements Fry Delarosa Best Benton Lugo Portillo Dougherty Crane Haley Phan Villalobos Blanchard Horne Finley Quintana Lynn Esquivel Bean Dodson Mullen Xiong Hayden Cano
    Sharma Gupta Kumar Verma Mehta Joshi Desai Iyer Nair Menon Reddy Rao Kapoor Malhotra Chopra Banerjee Mukherjee Chatterjee Das Bose Agarwal Bhatt Pillai Naidu Chowdhury Hussain Rahman Malik Qureshi Sheikh Ansari Siddiqui Farooq Aziz Haddad Farouk Nasser Mansour Khalil
    Okafor Okonkwo Adeyemi Eze Nwosu Obi Balogun Mensah Owusu Boateng Asante Nkosi Dlamini Khumalo Ndlovu Mokoena Diallo Traore Kone Toure Abebe Tesfaye Mwangi Kamau Otieno Odhiambo Novak Horvat Kovac Nagy Szabo Toth Varga Balogh Popescu Ionescu Dimitrov Petrov Ivanov Volkov
    Sokolov Popov Smirnov Kuznetsov Kowalski Nowak Wozniak Zielinski Kaminski Lewandowski Nowicki Wojcik Mazur Krawczyk Svoboda Dvorak Prochazka Muller Müller Fischer Meyer Weber Schulz Hoffmann Schäfer Koch Richter Wolf Schröder Neumann Zimmermann Braun Krüger Hofmann Lange Werner Krause
    Lehmann Köhler Maier Fuchs Scholz Lang Vogel Jung Keller Frank Roth Brandt Engel Lorenz Bergmann Dubois Durand Leroy Moreau Lefebvre Fournier Girard Bonnet Dupont Lambert Fontaine Rousseau Blanc Guerin Faure Mercier Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno
    Gallo Conti DeLuca Costa Giordano Mancini Rizzo Lombardi Moretti Barbieri Fontana Santoro Mariani Rinaldi Caruso Ferrara Galli Martini Leone Longo Gentile Martinelli Vitale Ferreira Oliveira Pereira Lima Carvalho Ribeiro Almeida Lopes Soares Fernandes Vieira Barbosa Rocha Dias Nascimento
    Jansen Vries Berg Bakker Visser Smit Meijer Boer Mulder Groot Bos Vos Peeters Maes Claes Andersson Johansson Karlsson Nilsson Eriksson Larsson Olsson Persson Svensson Gustafsson Lindqvist Lindholm Lindberg Bergström Hansen Nielsen Jensen Pedersen Andersen Christensen Sorensen Rasmussen Solberg
    Virtanen Korhonen Mäkinen Nieminen Tanaka Suzuki Sato Takahashi Watanabe Ito Yamamoto Nakamura Kobayashi Kato Yoshida Yamada Sasaki Yamaguchi Matsumoto Inoue Kimura Hayashi Shimizu Saito Mori Abe Ikeda Hashimoto Ishikawa Ogawa Okada Fujita Goto Hasegawa Kondo Sakamoto Endo Aoki Fujii Nishimura
    Yilmaz Yildiz Demir Kaya Sahin Celik Ozturk Aydin Arslan Papadopoulos Georgiou Christou Byrne Kelly Walsh Doherty Kavanagh Nolan Keane Brennan Whelan Cullen Maguire Pritchard Rees Griffiths Llewellyn Bevan Fraser Sinclair Munro Urquhart Drummond Lindsay Galbraith Ashworth Thackeray Holloway""".split()
)
"""Surnames that are frequent in English texts."""

ENDINGS = re.compile(
    r"(?:[^aeiou]son|sen|sson|ström|strom|berg|bergh|stein|mann|man|witz|vitz|wicz|ski|sky|skaya|ska|ov|ova|ev|eva|enko|chuk|yuk|ić|ic|vic|escu|idis|poulos|akis|oglu|yan|ian|shvili|dze|ez|es|az|ini|etti|elli|ello|ucci|acci|one|ano|ari|aldi|eau|eux"
    r"|ard|ault|ham|ford|worth|field|wood|well|ley|thorpe|shaw|bury|by|combe|cott|more|win|ner|mer|der|ler|ger|ker|kins|ett|itt|moto|mura|yama|kawa|saki|shita|hara|guchi|wala|kar|rao|nathan|swamy|singh|ola|emi|iwe|nkwo|zulu|aine|ault)\Z"
)
SURNAME_WORDS = frozenset(
    """Archer Baker Ball Banks Barber Bass Bell Berry Best Bird Bishop Black Bond Booth Bowman Branch Brand Bridges Bright Brook Brooks Brown Buck Bull Burns Bush Butler Carpenter Case Cash Chance
    Chase Christian Church Coach Cole Cook Cotton Crane Cross Dale Dean Drew Duke Earl England Farmer Field Fields Finch Fish Fisher Fleet Flowers Flynn Forest Fox Franks French Frost Fuller Gates Glass Gold
    Golden Good Grant Gray Green Grey Hale Hall Hammer Hand Harding Hardy Hart Heath Hill Hills Holiday Holly Hood Hope House Hunt Hunter Ireland Irons Ivory James Jordan Judge Keys King Kings Knight
    Lake Lamb Land Lane Law Leach Light Little Lock Long Lord Love Major Mann Marks Marsh Marshall Mason Masters Means Mercer Miles Miller Mills Moody Moon Moss Nice Noble North Page Paige Palmer Park Parks
    Pace Peace Pike Pilot Pitt Pool Poole Pope Porter Post Potter Pound Power Powers Price Pride Prince Proctor Rain Read Reader Reed Rice Rich Ridge Ring Rivers Robins Rose Rush Sage Sands Savage Self Sellers
    Sharp Shaw Shepherd Short Silver Singer Skinner Small Smart Snow South Spears Speed Spring Squire Stamp Star Steel Stock Stone Storm Street Strong Summer Summers Swan Sweet Swift Tanner Temple Thorn
    Towers Trainer Travers Turner Underwood Vale Wade Walker Wall Walls Ward Ware Warren Waters Weaver Weeks Wells West Wheeler White Wild Winter Winters Wise Wolf Wood Woods Word Work Worth Yard Yards Young""".split()
)
"""Those that are words of daily speech as well."""
