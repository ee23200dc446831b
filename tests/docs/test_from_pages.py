"""The pages for people who come from another tool: what they say to type is typed, and nothing of that tool is left out."""

from __future__ import annotations

import re

import pytest
from tests.box import Box
from tests.docs.pages import code_spans, read
from tests.docs.reader import Reader, a_hook, is_about_a_node
from tests.docs.typed import typed
from tests.hosts import Hosts
from tests.hosts.commands import obstacle

PAGES = (
    "docs/how-to/from-gpu-manager.md",
    "docs/how-to/from-gpu-tasker.md",
    "docs/how-to/from-gpulimit.md",
    "docs/how-to/from-gpupeasy.md",
    "docs/how-to/from-scheduler.md",
    "docs/zh/how-to/from-gpu-manager.md",
    "docs/zh/how-to/from-gpu-tasker.md",
)
LEAST = 20
"""Commands that a page has at the least; fewer, and they are not found any more."""
OLD_WORDS = {
    "docs/how-to/from-gpu-manager.md": """
        useradd addusers userdel suadd sudel lockuser unlockuser stop start exit dump dumpuser dumptask save load move add
        remove set schedule reschedule prompt clear lock unlock
        use_port use_gpus device_id_map admin_passwd sleep_secs save_every max_caches cache_drop_p cache_life_short
        cache_life_medium cache_life_long cache_clean_time session_life_time refresh_time root_mode aggressive_clean
        state_file done_task_file auto_dump_p auto_dump_thres round_tid digest_size hash_wd secret_key_length num_user_line
        flask_compress_level smtp_host smtp_port smtp_user smtp_passwd smtp_subject default_task wait_task_wkd wait_task_cmd
        wait_task_desc wait_pid.sh init_conda.sh start_gpuman.sh gpuman.service server.py cli.py task.sh done_tasks.txt
        wkd cmd stdout stderr ngpu force_gpuids real_gpuid_args timeout email desc serv_usr serv_passwd
        /create /update/12 /cancel/12 /dump /status /query/ana /userinfo /setting /admin
        pressure.py nostop.py wait_cpu.sh CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES requirements.txt
    """,
    "docs/how-to/from-gpu-tasker.md": """
        gpustat settings.py init.sh run.sh run-ipv6.sh main.py /admin authorized_keys CUDA_VISIBLE_DEVICES
        server_username server_private_key gpustat_path email_settings.py running_log server_log
        用户设置 系统设置 GPU服务器 GPU任务 GPU任务运行记录 是否可用 是否可调度 工作目录 命令 GPU数量需求 独占显卡 显存需求
        利用率需求 指定服务器 优先级 状态 准备就绪 未就绪 运行中 已完成 运行失败
    """,
    "docs/how-to/from-gpulimit.md": """
        gpulimit_server nohup help add ls show rm kill move set start log status debug clean mv --priority --logpath
        TIMER_POLLING_TIME MAX_ERR_TIMES SAFETY_KEEP_MEMORY SAFETY_KEEP_GPU_MEMORY MAX_RUNNING_TASKS
        CMD_ERROR complete waiting running runtime_error killed paused priority run_times
        timer_call callback_process_end callback_add_process user_start_scheduling /tmp/gpulimit setup.py
    """,
    "docs/how-to/from-gpupeasy.md": """
        startserver.py startgui.py gpuList host port logdir wakesec maxQueueSize jobname outfile CUDA_VISIBLE_DEVICES
        /addnewjob /deviceutilization /scheduledjobs /successfuljobs /failedjobs /availabledevices /jobinfo
        /batchaddjobs /testCommandParser /loadlogfile /message
        reject_invalid add_param None build clean cbuild summarize .esy .csv Scheduled Running Succeeded Failed
    """,
    "docs/how-to/from-scheduler.md": """
        -h -gc -i -v -o -e -pg -fg -s -rg --help --gpu_count --init --verbose --out --err --prefered_gpu --forced_gpu
        --status --release_gpu gpu_scheduler_info __num__ GPU -n -p -f -r --cx Ctrl-C
    """,
}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_ends_as_it_says(page: str, box: Box) -> None:
    commands = typed(read(page))
    assert len(commands) >= LEAST
    far = [command for command in commands if is_about_a_node(command)]
    why = obstacle() if far else None
    wrong = []
    with a_hook() as hook, Hosts(1 if far and why is None else 0) as hosts:
        reader = Reader(box, hook, hosts if len(hosts) else None)
        for command in commands if why is None else [each for each in commands if each not in far]:
            ran = reader.types(command)
            if ran.code != command.code:
                wrong.append(f"{command.line}: exit code {ran.code}, not {command.code}: {ran.out[-300:]}{ran.err[-500:]}")
    assert wrong == [], "\n".join(wrong)
    if why is not None:
        pytest.skip(f"NOT TESTED, {why}: {', '.join(command.line for command in far)}")


@pytest.mark.parametrize("page", PAGES)
def test_no_command_of_the_page_is_passed_over(page: str) -> None:
    text = read(page)
    for command in sorted(typed(text), key=lambda each: -len(each.line)):
        text = text.replace(command.line, "")
    assert re.findall(r"\broost [a-z-]+.*", text) == []


@pytest.mark.parametrize("page", OLD_WORDS)
def test_nothing_of_the_old_tool_is_left_out(page: str) -> None:
    said = {word for span in code_spans(read(page)) for word in (span, *span.replace("=", " ").split())}
    assert [word for word in OLD_WORDS[page].split() if word not in said and not any(word in each for each in said)] == []


@pytest.mark.parametrize("name", ["from-gpu-manager.md", "from-gpu-tasker.md"])
def test_both_languages_type_the_same(name: str) -> None:
    assert typed(read(f"docs/how-to/{name}")) == typed(read(f"docs/zh/how-to/{name}"))
