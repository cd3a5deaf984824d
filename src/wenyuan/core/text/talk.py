"""Chinese clauses that talk about the asking and ask for nothing: 开会时有人提到，替同事问的，查了半天没查到.

A clause before the question or behind it is talk where it can be cut into words of asking, knowing and reporting, of people who do so and of
when they did, of which one is of asking, knowing or reporting.
"""

from __future__ import annotations

import re

_OTHERS = frozenset(
    """
我 我们 咱 咱们 你 您 你们 他 她 他们 她们 大家 有人 别人 自己 人家 同事 同事们 朋友 客户 领导 老板 主管 经理 上级 家人 家里人 家里 爸 妈 爸妈 老公 老婆 爱人 孩子 邻居 学员 同学 师傅
新人 新来的 小伙子 小姑娘 小伙伴 老师 亲戚 群里 网上 会上 开会 开会时 例会 培训 培训时 聊天 聊天时 吃饭时 电话里 昨天 今天 明天 昨晚 刚才 刚刚 上次 上回 之前 以前 最近 这几天 前几天 早上 上午 下午 晚上
一直 老是 总是 总 也 都 还 就 又 再 先 在 有 有个 有些 没 没有 不 不太 不大 很 挺 特别 非常 比较 有点 真的 实在 确实 其实 可能 好像 的 地 得 了 过 着 个 一个 这个 那个 这 那 这事 这件事 这块 这方面 这点 关于
一下 下 一遍 一眼 半天 好久 好半天 好几次 几次 几遍 几天 时 时候 里 上 中 后 写 写材料 写报告 写方案 做 做表 材料 报告 方案 要用 用 等着用 想 要 想要 需要 必须 能 替 帮 帮忙 给 跟 和 向 对 是 让 叫
翻 看 听 记 想起 突然 忽然 顺便 顺带 另外 随口 偶然 多 打电话 打电话来 电话 来 来的 来了 值班 值班时 值班室 上班 上班时 下班 下班前 到 说明书 手册 文件 制度 通知 公告 官网 网站 网页 系统 文档 规定 资料 表 填 填表 填到 一半 卡住 卡住了 脑子 转不过来 一头雾水 晕 懵 懵了 糊涂 乱
顺嘴 一句 一声 一嘴 非 非让 非要 非得 让我 叫我 托我 找我 拉着我 缠着我 这事儿 事儿 个事 小忙 小事 呗 吧 啦 啊 哦 呀 嘛 哈 哎 唉 嗯 那个啥 新手 小白 外行 门外汉 第一次 头一回 头一次 刚来 刚来的 刚入职 实习 实习生 徒弟 学生 家长 顾客 业主 住户 会员 读者 病人 患者 家属 访客 供应商 甲方 乙方 隔壁
部门 科室 班组 单位 公司 店里 办公室 微信 微信群 短信 邮件 论坛 帖子 视频 直播 考试 考核 面试 作业 题目 论文 汇报 总结 检查 抽查 今早 今晚 明早 上周 本周 这周 周末 月底 年底 前两天 这两天 近期 临时 急需 立刻 越快越好 不急 不着急
别 别笑 别笑我 见笑 冒昧 贸然 弱弱 弱弱地 小声 斗胆 虚心 诚心 认真 仔细 再次 重复 多次 反复 全 都没 也没 还没 从来 从没 从来没 压根 根本 完全 始终 至今 到现在 仍 仍然 依然 各位大神 大神 高手 专家 前辈 老员工 懂行 懂行的 内行 有经验 有经验的 好心人
多 请 找 求 各位 各有 两种 几种 各说各的 网友 手头 手里 暂时 反正 主要 只是 也许 到底 事 事情 话 句 句话 快 尽快 早点 赶紧 马上 等 等您 等你 耽误 占用 时间
""".split()
)
_TELLING = frozenset(
    """
问 问的 问问 问道 问起 问到 问过 追问 被问 请教 咨询 打听 了解 核对 确认 核实 请示 搞懂 搞清 搞清楚 搞明白 弄懂 弄清 弄清楚 弄明白 听清 听清楚 听懂 听说 看懂 看明白 查到 查不到 找到 找不到 搜到 搜不到 没查到 没找到
知道 清楚 明白 懂 熟悉 记得 记不清 忘了 说法 不一 不一样 提到 提起 提过 说到 说起 说过 谈到 聊到 聊起 讲到 讲过 讨论 讨论到 讨论过 争论 争 吵 议论 意见 准话 准信 说法不一 意见不一 着急 急用 急 很急 在线等 谢谢 感谢 麻烦
麻烦了 答复 回复 解答 告知 指点 赐教 疑问 疑惑 问题 好奇 纠结 拿不准 吃不准 不确定 确定 查 搜 求助 请问 想问 核一下 对一下 确认的 想知道 打听打听 问问看 了解了解 确认确认 请教请教 回话 回个话 回信 痛快话 实话 个话 话说 吵翻 吵翻了 吵起来 吵了 争起来 争论不休 讲到 没讲到 没提到 没说到 没听懂 没听清 没看懂 没看明白 没弄明白 没搞懂 没想明白 想不通 想不明白 想不起来 记不得 不记得 谁清楚 谁知道 谁懂 有数 科普 普及 指教 支招 打探 追着问 老问 总问 常问 被问到 被问住 问住了 答不上来 答不上 说不清 说不准 说不明白 各执一词 众说纷纭 犯嘀咕 心里没底 没底 没谱 疑惑 困惑 弱问 补充 补问 追加 打扰 见谅 抱歉 不好意思
""".split()
)
_LONGEST = max(map(len, _OTHERS | _TELLING))
_MOST = 18  # characters of a clause
_FIRST = re.compile(rf"\s*([\u4e00-\u9fff]{{2,{_MOST}}})\s*[，,：:。.！!、~～…—-][\s，,：:。.！!、~～…—-]*")
_LAST = re.compile(rf"[\s，,。.！!？?、~～…—-]+([\u4e00-\u9fff]{{2,{_MOST}}})[\s，,。.！!~～…]*\Z")
_ASKS = re.compile(
    "吗|么|呢|哪|几|多少|多久|多大|多长|谁|如何|咋|能不能|是否|是不是|有没有|要不要|会不会|可不可以|怎|什么|为啥|啥|[?？]"
)


def end_of_talk(text: str) -> int:
    """Where the question begins behind a clause of talk; 0 where there is none, or nothing is asked behind it."""
    found = _FIRST.match(text)
    return found.end() if found and _is_talk(found[1]) and _ASKS.search(text, found.end()) else 0


def begin_of_talk(text: str) -> int:
    """Where the question ends before a clause of talk; 0 where there is none, or nothing is asked before it."""
    found = _LAST.search(text)
    return found.start() if found and _is_talk(found[1]) and _ASKS.search(text[: found.start() + 1]) else 0


def _is_talk(clause: str) -> bool:
    """Whether a clause can be cut into words of talk, of which one is of asking, knowing or reporting."""
    reached = [(True, False)] + [(False, False)] * len(
        clause
    )  # by characters: whether words end there, and one of them is such a word
    for end in range(1, len(clause) + 1):
        for begin in range(max(0, end - _LONGEST), end):
            ends, telling = reached[begin]
            word = clause[begin:end]
            if ends and (word in _OTHERS or word in _TELLING):
                reached[end] = (True, reached[end][1] or telling or word in _TELLING)
    return all(reached[-1]) and _ASKS.search(clause) is None
