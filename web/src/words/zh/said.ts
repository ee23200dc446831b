// 服务器所说的话：英文句式与中文句式成对，`{…}` 处原样带入，`{~…}` 处若也是已知的话则一并译出；英文中 «a|b» 表示其一，«s» 表示可有可无。
// 每一句都要在这里：tests/unit/test_said.py 会与源代码核对。
import { sayingOf, type Pair } from "../../lib/saying";
import { check } from "./said/check";
import { jobs } from "./said/jobs";
import { nodes } from "./said/nodes";
import { others } from "./said/others";
import { parts } from "./said/parts";
import { people } from "./said/people";
import { runs } from "./said/runs";
import { server } from "./said/server";
import { sweeps } from "./said/sweeps";


export type { Pair };

export const pairs: readonly Pair[] = [...jobs, ...sweeps, ...runs, ...nodes, ...check, ...people, ...server, ...others];
/** What is only part of a sentence. */
export const inside: readonly Pair[] = parts;

export const said = sayingOf(pairs, inside);
