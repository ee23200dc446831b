import { describe, expect, it } from "vitest";
import { commandLine, defaultsOf, EMPTY, fieldOf, fieldsOf, fieldsToChange, read, type Fields } from "./jobform";

const now = new Date("2026-11-20T12:00:00Z");
const of = (fields: Partial<Fields>): Fields => ({ ...EMPTY, ...fields });
const spec = (fields: Partial<Fields>, defaults = {}): object => read(of(fields), defaults, now).spec;
const line = (fields: Partial<Fields>, defaults = {}): string => commandLine(of(fields), defaults, now);

describe("what is asked for", () => {
  it("is little when little is typed", () => expect(spec({ command: " python a.py " })).toEqual({ command: "python a.py", gpus: 1 }));
  it("is read as the command line reads it", () =>
    expect(spec({ command: "x", gpus: "2", mem: "8G", time: "2h", labels: "a, b", after: "3-5", priority: "-2", begin: "+1h", merge: true, open: "append", notify: ["fail"], umask: "027" })).toEqual({
      command: "x", gpus: 2, mem_mib: 8192, time_limit_s: 7200, labels: ["a", "b"], after: [3, 4, 5], priority: -2, begin_at: "2026-11-20T13:00:00Z", stderr: "stdout", open: "append", notify: ["fail"], umask: 0o027,
    }));
  it("takes auto for a memory", () => expect(spec({ command: "x", mem: "Auto" })).toEqual({ command: "x", gpus: 1, mem_auto: true }));
  it("says nothing of GPUs where there are none", () => expect(spec({ command: "x", gpus: "0", mem: "8G", gpu_ids: "0", exclusive: true })).toEqual({ command: "x", gpus: 0 }));
  it("takes back a default that was cleared", () =>
    expect(spec({ command: "x" }, { mem_mib: 8192, preemptible: true, labels: ["a"], mem_auto: true, retries: 3, notify: ["end"], open: "append" })).toEqual({
      command: "x", gpus: 1, mem_mib: null, preemptible: false, labels: [], mem_auto: false, retries: 0, notify: [], open: "new",
    }));
  it("has a script with its arguments", () => expect(spec({ isScript: true, script: "echo $1\n", args: "'a b' c", name: "go" })).toEqual({ command: ["go", "a b", "c"], script: "echo $1\n", gpus: 1, name: "go" }));
  it("has variables, those of another job first", () => expect(read(of({ command: "x", env: "A=2\nB=3", env_of: 7 }), {}, now, { A: "1", C: "4" }).spec.env).toEqual({ A: "2", B: "3", C: "4" }));
  it("says which field cannot be read", () =>
    expect(read(of({ command: "x", mem: "8", time: "soon", after: "a", cwd: "here", gpus: "-1", env: "A", args: "", umask: "9" }), {}, now).problems).toEqual({
      mem: "submit.expected_size", time: "submit.expected_time", after: "submit.expected_ids", cwd: "submit.expected_path", gpus: "submit.expected_count", env: "submit.expected_variable", umask: "submit.expected_umask",
    }));
});

describe("a job as fields", () => {
  const job = {
    command: ["python", "a b.py"], cwd: "/data", gpus: 2, mem_mib: 1536, gpu_ids: ["0", "lab:1"], after: [1, 2, 3], time_limit_s: 5400, stderr: "stdout", open: "overwrite" as const, notify: ["none"],
    labels: ["a"], priority: 5, retries: 2, preemptible: true, umask: 0o22, begin_at: "2026-11-21T08:00:00Z", warn_signal: "USR1",
  };
  it("asks for the same again", () => expect(read(fieldsOf(job), {}, now).spec).toEqual(job));
  it("asks for a line when the words were changed", () => expect(read({ ...fieldsOf(job), command: "python c.py" }, {}, now).spec.command).toBe("python c.py"));
  it("asks for the same script again", () => {
    const script = { command: ["go.sh", "a b"], script: "echo", gpus: 1 };
    expect(read(fieldsOf(script), {}, now).spec).toEqual({ ...script, name: "go.sh" });
  });
});

describe("defaults", () => {
  it("are what is said of any job", () =>
    expect(defaultsOf(of({ gpus: "1", mem: "8G", time: "2h", preemptible: true, labels: "a", hold: true, after: "3", command: "x" }), now)).toEqual({
      defaults: { mem_mib: 8192, time_limit_s: 7200, preemptible: true, labels: ["a"] }, problems: {},
    }));
  it("come back as they were", () => {
    const defaults = { gpus: 2, mem_auto: true, stderr: "stdout", open: "append", notify: ["fail"], grace_s: 60, cwd: "/data" };
    expect(defaultsOf(fieldsOf(defaults), now).defaults).toEqual(defaults);
  });
});

describe("the command line", () => {
  it("is short when little is asked", () => expect(line({ command: "python a.py" })).toBe("roost submit 'python a.py'"));
  it("has the words of a job as words", () => expect(commandLine(fieldsOf({ command: ["python", "a b.py"] }), {}, now)).toBe("roost submit python 'a b.py'"));
  it("says what was typed", () =>
    expect(line({ command: "x && y", gpus: "2", mem: "8G", time: "2h", labels: "a, b c", name: "it's", after: "3,4", hold: true, open: "append", env: "A=b c" })).toBe(
      `roost submit -g 2 --mem 8G --name 'it'"'"'s' -l a -l 'b c' --after 3,4 -t 2h --hold --append --env 'A=b c' 'x && y'`,
    ));
  it("does not repeat defaults, and takes back those that are gone", () =>
    expect(line({ command: "x", gpus: "1", mem: "8G", preemptible: false, retries: "" }, { mem_mib: 8192, gpus: 2, preemptible: true, retries: 2, time_limit_s: 60, stdout: "a" })).toBe(
      "roost submit --without gpus,time,retries,output,preemptible x",
    ));
});

describe("what a refusal is about", () => {
  it.each([
    ["jobs[0].gpus: Expected `int`, got `str`", null, "gpus"], ["mem_mib must be between 1 and 2, not 3", "spec.out_of_range", "mem"], ["name：过长（300 个字符，最多 200 个）", "spec.too_long", "name"],
    ["没有节点 x，现有：lab", "node.unknown", "nodes"], ["there is no GPU 9; GPUs: lab:0", "gpu.unknown", "gpu_ids"], ["9 GPUs requested; this machine has 4", "gpu.too_many_here", "gpus"],
    ["there is no job 7 to wait for", null, "after"], ["--exclusive 独占整块 GPU，--mem 共享 GPU，只能选一个", "spec.exclusive_and_mem", "mem"], ["something else", null, null],
    ["a priority above 100 is for administrators (job.max_priority), not 200", null, "priority"],
  ])("%s", (message, reason, field) => expect(fieldOf({ message, reason })).toBe(field));
});

describe("what would start now", () => {
  it("sets the fields of what it asks for, and empties those of a condition that it drops", () => {
    expect(fieldsToChange({ gpus: 1 })).toEqual({ gpus: "1" });
    expect(fieldsToChange({ mem_mib: 10_240, exclusive: false })).toEqual({ mem: "10G", exclusive: false });
    expect(fieldsToChange({ gpu_models: [], min_gpu_mem_mib: null })).toEqual({ gpu_models: "", min_gpu_mem: "" });
  });
});
