from course_lib.teaching.cards.verdict import Verdict


def s000_01() -> Verdict:
    return Verdict("fails", intensity=682.7, n=4096, computed="682.7 FLOP/B")


def s000_02() -> Verdict:
    return Verdict("holds", share=1 / 3, sizes={"rows": 345})
