import { describe, expect, it } from "vitest";
import { inside, pairs } from "../words/zh/said";
import { sayingOf } from "./saying";

const said = sayingOf(pairs, inside);

describe("what the server says, in Chinese", () => {
  it.each([
    ["there is no job 17", "没有任务 17"],
    ["asked for 9 GPUs, there are 4", "申请了 9 块 GPU，总共只有 4 块"],
    ["asked for 1 GPU, there is 0", "申请了 1 块 GPU，总共只有 0 块"],
    ["asked for 2 GPUs with 80 GiB each; 0 would do, the largest has 24 GiB", "申请了 2 块 GPU，每卡显存 80 GiB；满足条件的有 0 块，显存最大的为 24 GiB"],
    ["asked for 2 GPUs of model H100 on lab3: 0 would do; there are 4 of SIM T4 (16 GiB), 2 of A100 (40 GiB)", "申请了 2 块 GPU（型号 H100，节点 lab3）：满足条件的有 0 块；现有 4 块 SIM T4（16 GiB）、2 块 A100（40 GiB）"],
    ["there is no node lab9: there are a, b and 3 more", "没有节点 lab9：现有 a, b，另有 3 个"],
    ["it is queued: only a running job can be paused (`roost hold` keeps a queued one)", "任务正在排队，只有运行中的任务可以暂停（排队中的可用 `roost hold` 挂起）"],
    ["{lr} is filled in by Roost itself: choose another name for the parameter", "{lr} 由 Roost 自行填入，请为参数另取名称"],
    ["job.max_priority takes a whole number, not 'x'", "job.max_priority 应为整数，而不是 'x'"],
  ])("%s", (english, chinese) => expect(said(english)).toBe(chinese));

  it("says what stands in a hole too, where that is known", () => {
    expect(said("the program of ana on lab3: cannot run as ana: this machine has no such account")).toBe("ana 在节点 lab3 上的程序：无法以 ana 的身份运行：那台机器上没有此账号");
    expect(said("no such directory on lab3: /data (is it not shared with that node? copy it there, or name another with --cwd or --node)"))
      .toBe("节点 lab3 上没有目录 /data（是否未与该节点共享？请复制过去，或用 --cwd 或 --node 另行指定）");
    expect(said("retry 1 of 3 after CUDA out of memory, on a GPU with more than 16 GiB")).toBe("第 1 次重试（最多 3 次），上次结束原因：CUDA 显存不足；这次使用显存大于 16 GiB 的 GPU");
    expect(said("--dir has {sed}, which is no parameter (there are: lr, seed)")).toBe("--dir 中的 {sed} 不是参数（现有：lr, seed）");
    expect(said("the command has {sed}, which is no parameter (there are: lr, seed)")).toBe("命令中的 {sed} 不是参数（现有：lr, seed）");
    expect(said("retry 1 of 3 after CUDA out of memory, alone on its GPU")).toBe("第 1 次重试（最多 3 次），上次结束原因：CUDA 显存不足；这次独占 GPU");
  });

  it("says several texts that were put together, each by itself", () => {
    expect(said("no account there for ana, bob; carl may not run /usr/bin/python3")).toBe("那里没有 ana, bob 的账号；carl 无权运行 /usr/bin/python3");
    expect(said("proxies: 'x' is neither an address nor a network like 10.0.0.0/8")).toBe("proxies：'x' 既不是地址，也不是 10.0.0.0/8 这样的网段");
    expect(said("Permission denied: /scratch/x")).toBe("权限不足：/scratch/x");
  });

  it("says what ssh says most often", () => {
    expect(said("ssh: connect to host lab3 port 22: Connection refused")).toBe("ssh 无法连接主机 lab3 的端口 22：连接被拒绝");
    expect(said("roost@lab3: Permission denied (publickey,password).")).toBe("roost@lab3：登录被拒绝（publickey,password）");
  });

  it("has no space between two Chinese characters, and one before other words", () => {
    expect(said("label has 300 characters, at most 200 are kept")).toBe("标签有 300 个字符，最多 200 个");
    expect(said("desc has 300 characters, at most 200 are kept")).toBe("desc 有 300 个字符，最多 200 个");
    expect(said("1,200 GPUs are too many to be named, at most 1,000 are taken")).toBe("指定了 1,200 个 GPU，太多了，最多 1,000 个");
  });

  it("prefers the pattern that says most itself", () => {
    expect(said("GPU lab3:0 is disabled")).toBe("GPU lab3:0 已停用");
    expect(said("GPU 0 is claimed by bob's Roost (pid 7)")).toBe("GPU 0 已被 bob 的 Roost 认领（进程 7）");
  });

  it("leaves what it does not know, and what is to be typed, as it is", () => {
    for (const text of ["", "roost ls --all", "kex_exchange_identification: read: it broke", "yes, but", "running", "a: b; c: d"]) expect(said(text)).toBe(text);
  });

  it("keeps what was typed in a hole untouched, whatever it holds", () => {
    expect(said("there is no user $& {user} (.*)")).toBe("没有用户 $& {user} (.*)");
  });
});
