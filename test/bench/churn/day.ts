import { drawFrom, type Draw } from '../../../shared/core/quantity/draw.ts';

/** Pods that are alike: a Deployment, or the pods of jobs of one size. */
export interface App {
  readonly name: string;
  readonly cpuM: number;
  readonly mib: number;
  /** Spread over the zones, DoNotSchedule. */
  readonly isSpread: boolean;
  /** A job whose pods say do-not-disrupt. */
  readonly isProtected: boolean;
}

/** What happens to the cluster from outside, the same whoever removes nodes. Pods are named by their number. */
export type Happening =
  | { readonly kind: 'start'; readonly pod: number; readonly app: number }
  | { readonly kind: 'end'; readonly pod: number }
  /** The kubelet or somebody evicts it: another comes in its place. */
  | { readonly kind: 'evict'; readonly pod: number }
  /** Of the nodes by age, the one at this share of them dies. */
  | { readonly kind: 'node-dies'; readonly share: number };

export interface Day {
  readonly apps: ReadonlyArray<App>;
  /** By tick. */
  readonly happenings: ReadonlyMap<number, ReadonlyArray<Happening>>;
}

/** Seconds of one turn of the simulation: Karpenter's validation takes one. */
export const TICK_S = 15;
const MINUTE = 60 / TICK_S;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const DEPLOYMENTS = 36;
const JOB_SIZES = 6;
const JOBS_PER_HOUR = 5;
const SCALINGS_PER_HOUR = 3;
const NODES_THAT_DIE = 2;
const EVICTIONS = 60;

/**
 * A drawn day: Deployments that follow the hour of the day, rollouts in working hours, jobs, evictions, nodes that die.
 */
export function drawnDay(seed: number): Day {
  const draw = drawFrom(2 * seed);
  const apps = [
    ...Array.from({ length: DEPLOYMENTS }, (_, index) => appOf(`web-${index}`, draw, false)),
    ...Array.from({ length: JOB_SIZES }, (_, index) => appOf(`job-${index}`, draw, index % 2 === 0)),
  ];
  const book = new Map<number, Array<Happening>>();
  const note = (tick: number, one: Happening): void => {
    if (tick >= DAY) return;
    book.set(tick, [...(book.get(tick) ?? []), one]);
  };
  let pods = 0;
  for (let app = 0; app < DEPLOYMENTS; app++) pods = deployment({ app, draw, note, pods });
  for (let job = 0; job < 24 * JOBS_PER_HOUR; job++) {
    const start = draw.below(DAY);
    const app = DEPLOYMENTS + draw.below(JOB_SIZES);
    const length = (5 + draw.below(36)) * MINUTE;
    for (let size = 1 + draw.below(12); size > 0; size--) {
      note(start, { kind: 'start', pod: pods, app });
      note(start + length + draw.below(2 * MINUTE), { kind: 'end', pod: pods++ });
    }
  }
  for (let one = 0; one < EVICTIONS; one++) note(draw.below(DAY), { kind: 'evict', pod: draw.below(pods) });
  for (let one = 0; one < NODES_THAT_DIE; one++) note(draw.below(DAY), { kind: 'node-dies', share: draw.share() });
  return { apps, happenings: book };
}

function appOf(name: string, draw: Draw, isProtected: boolean): App {
  const cpuM = [100, 250, 250, 500, 500, 1000, 2000][draw.below(7)] ?? 500;
  const mib = Math.round(cpuM * (1 + 3 * draw.share()));
  return { name, cpuM, mib, isSpread: name.startsWith('web') && draw.below(4) === 0, isProtected };
}

interface Deploying {
  readonly app: number;
  readonly draw: Draw;
  readonly note: (tick: number, one: Happening) => void;
  readonly pods: number;
}

/**
 * Scales every 20 minutes to what the hour asks for, newest pods first to go; rolls out once or twice, a quarter a
 * minute.
 */
function deployment({ app, draw, note, pods }: Deploying): number {
  let next = pods;
  let there: Array<number> = [];
  const most = 3 + draw.below(28);
  const peak = 12 + draw.below(5);
  const rollouts = new Set(
    Array.from({ length: 1 + draw.below(2) }, () => (9 + draw.below(8)) * SCALINGS_PER_HOUR + draw.below(3)),
  );
  const add = (tick: number): void => {
    note(tick, { kind: 'start', pod: next, app });
    there.push(next++);
  };
  for (let turn = 0; turn < 24 * SCALINGS_PER_HOUR; turn++) {
    const tick = turn === 0 ? 0 : Math.floor((turn * HOUR) / SCALINGS_PER_HOUR) + draw.below(5 * MINUTE);
    const load =
      0.35 +
      0.65 * Math.max(0, Math.cos(((turn / SCALINGS_PER_HOUR - peak) / 24) * 2 * Math.PI)) +
      0.1 * (draw.share() - 0.5);
    const wanted = Math.max(1, Math.round(most * load));
    while (there.length < wanted) add(tick);
    for (; there.length > wanted; there.pop()) note(tick, { kind: 'end', pod: there.at(-1) ?? -1 });
    if (!rollouts.has(turn)) continue;
    const old = there;
    there = [];
    const chunk = Math.max(1, Math.ceil(old.length / 4));
    for (const [index, pod] of old.entries()) {
      const at = tick + 5 * MINUTE + Math.floor(index / chunk) * MINUTE;
      add(at);
      note(at + MINUTE, { kind: 'end', pod });
    }
  }
  return next;
}
