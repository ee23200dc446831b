import type { Pair } from "../said";

// 别的程序的常见说法：ssh、操作系统、检查请求格式的库。
export const others: readonly Pair[] = [
  // ssh
  ["ssh: connect to host {host} port {port}: {why}", "ssh 无法连接主机 {host} 的端口 {port}：{~why}"],
  ["ssh: Could not resolve hostname {host}: {why}", "ssh 无法解析主机名 {host}：{~why}"],
  ["{login}: Permission denied ({methods})«.»", "{login}：登录被拒绝（{methods}）"],
  ["Connection «closed|reset» by {host} port {port}", "连接被 {host} 端口 {port} 断开"],
  ["Connection timed out", "连接超时"],
  ["Operation timed out", "操作超时"],
  ["No route to host", "没有到该主机的路由"],
  ["Network is unreachable", "网络不可达"],
  ["Host is down", "主机已关机"],
  ["Name or service not known", "域名或服务未知"],
  ["Temporary failure in name resolution", "域名解析暂时失败"],
  ["This account is currently not available.", "此账号目前不可用"],

  // 系统的说法
  ["permission denied", "权限不足"],
  ["no such file or directory", "没有该文件或目录"],
  ["not a directory", "不是目录"],
  ["is a directory", "是目录"],
  ["file exists", "文件已存在"],
  ["no space left on device", "设备空间不足"],
  ["read-only file system", "文件系统只读"],
  ["disk quota exceeded", "超出磁盘配额"],
  ["input/output error", "输入输出错误"],
  ["stale file handle", "文件句柄已失效"],
  ["operation not permitted", "不允许的操作"],
  ["too many levels of symbolic links", "符号链接层数过多"],
  ["file name too long", "文件名过长"],
  ["cannot allocate memory", "无法分配内存"],
  ["resource temporarily unavailable", "资源暂时不可用"],
  ["too many open files", "打开的文件过多"],

  // 请求格式的检查
  ["Expected {wanted}, got {given}", "应为 {wanted}，而不是 {given}"],
  ["Expected {wanted} - at {place}", "{place}：应为 {wanted}"],
  ["Expected {wanted}, got {given} - at {place}", "{place}：应为 {wanted}，而不是 {given}"],
  ["Expected {wanted}", "应为 {wanted}"],
  ["Object missing required field {name}", "缺少字段 {name}"],
  ["Object contains unknown field {name}", "未知字段 {name}"],
  ["Object contains unknown field {name} - at {place}", "{place}：未知字段 {name}"],
  ["Invalid enum value {value}", "不允许的值 {value}"],
  ["Invalid enum value {value} - at {place}", "{place}：不允许的值 {value}"],
  ["Number out of range", "数值超出范围"],
];
