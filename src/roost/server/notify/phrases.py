"""The words of messages in English and Chinese."""

from roost.core.notify_events import LANGUAGES

_PHRASES: dict[str, tuple[str, str]] = {
    "subject": ("Roost: job {job} {name} {how}", "Roost：任务 {job} {name} {how}"),
    "on": (" on {node}", "，节点 {node}"),
    "exit": (" (exit {code})", "（退出码 {code}）"),
    "how_start": ("started", "已开始"),
    "how_succeeded": ("succeeded", "已成功结束"),
    "how_failed": ("failed", "失败"),
    "how_cannot_start": ("could not start", "无法启动"),
    "how_out_of_memory": ("ran out of memory", "内存或显存不足"),
    "how_timed_out": ("reached its time limit", "超过时间上限"),
    "how_killed": ("was killed", "被终止"),
    "how_lost": ("was lost", "已丢失"),
    "how_idle": ("holds an idle GPU", "占用 GPU 却没有使用"),
    "subject_free": ("Roost: free: {gpus}", "Roost：空闲：{gpus}"),
    "subject_more": ("Roost: and {count} more", "Roost：另有 {count} 条"),
    "subject_test": ("Roost: a test", "Roost：测试"),
    "body_free": (
        "Nobody uses it or waits for it now: {gpus}.\nAll of them: roost gpus",
        "现在没有人使用，也没有任务在等：{gpus}。\n查看全部：roost gpus",
    ),
    "body_more": (
        "{count} more messages waited to be sent; this one stands for them.\nAll jobs: roost ls --all",
        "还有 {count} 条消息没有发出，用这一条代替。\n查看全部任务：roost ls --all",
    ),
    "body_test": (
        "This is a test of `roost notify test`: messages arrive here.",
        "这是 `roost notify test` 的测试：消息可以送到这里。",
    ),
    "body_idle": (
        "For {time} it has not used a GPU that it holds. Others may wait for it.",
        "它占用的 GPU 已有 {time} 没有使用，别人可能正在等。",
    ),
    "job": ("job", "任务"),
    "attempt": ("attempt {n}", "第 {n} 次"),
    "name": ("name", "名称"),
    "user": ("user", "用户"),
    "where": ("on", "位置"),
    "waited": ("waited", "等待"),
    "ran": ("ran", "运行"),
    "code": ("exit code", "退出码"),
    "error": ("error", "错误"),
    "peak_gpu": ("peak GPU memory", "显存峰值"),
    "peak_ram": ("peak RAM", "内存峰值"),
    "look": ("look further", "查看更多"),
    "last_lines": ("The last {count} lines of its log:", "日志最后 {count} 行："),
    "colon": (": ", "："),
    "d": (" d", " 天"),
    "h": (" h", " 小时"),
    "m": (" min", " 分"),
    "s": (" s", " 秒"),
}
PHRASES = {language: {key: words[at] for key, words in _PHRASES.items()} for at, language in enumerate(LANGUAGES)}
"""The same, a table a language."""
