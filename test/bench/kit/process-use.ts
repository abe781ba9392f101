import { readdirSync, readFileSync } from 'node:fs';

/** Seconds of CPU and bytes of resident memory of one of our processes, by what it is. */
export interface Use {
  readonly cpuS: number;
  readonly rssMb: number;
}

const PARTS: ReadonlyArray<readonly [part: string, command: RegExp]> = [
  ['functions host of interrupt', /--group=function:interrupt/],
  ['functions host of provision', /--group=function:provision/],
  ['functions host of launch', /--group=function:launch/],
  ['functions host of follow', /--group=function:follow/],
  ['functions host', /functions-host/],
  ['relay', /relay/],
  ['service bus', /servicebus/],
  ['storage', /azurite/],
  ['kube-apiserver', /kube-apiserver/],
  ['kube-scheduler', /kube-scheduler /],
  ['kube-controller-manager', /kube-controller-manager /],
  ['etcd', /etcd /],
];

const TICKS_PER_S = 100;
const PAGE_BYTES = 4096;

/** What this process and its descendants have used so far, by part. Reads /proc of Linux. */
export function readUses(): ReadonlyMap<string, Use> {
  const uses = new Map<string, Use>();
  for (const [pid, part] of ownProcesses()) {
    const fields = readStat(pid);
    if (fields === null) continue;
    const cpuS = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
    const rssMb = (Number(fields[21]) * PAGE_BYTES) / 1e6;
    const known = uses.get(part);
    uses.set(part, { cpuS: cpuS + (known?.cpuS ?? 0), rssMb: rssMb + (known?.rssMb ?? 0) });
  }
  return uses;
}

/** The processes that are of this part, those that this one has started only. */
export function pidsOf(part: string): ReadonlyArray<number> {
  return ownProcesses().flatMap(([pid, own]) => (own === part ? pid : []));
}

/** This process and its descendants, each with what it is; those that nobody has named are left out. */
function ownProcesses(): ReadonlyArray<readonly [pid: number, part: string]> {
  const parents = new Map<number, number>();
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    const fields = readStat(pid);
    if (fields !== null) parents.set(pid, Number(fields[1]));
  }
  const isOurs = (pid: number): boolean => pid === process.pid || (pid > 1 && isOurs(parents.get(pid) ?? 0));
  return [...parents.keys()].filter(isOurs).flatMap((pid) => {
    const command = readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
    const part = pid === process.pid ? 'Azure, kubelets, bench' : PARTS.find(([, words]) => words.test(command))?.[0];
    return part === undefined ? [] : [[pid, part] as const];
  });
}

/** The fields of /proc/PID/stat after the command's name; null when the process has ended. */
function readStat(pid: number): ReadonlyArray<string> | null {
  const text = readText(`/proc/${pid}/stat`);
  return text === '' ? null : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
