import { describe, expect, it } from 'vitest';
import { createSchedulerMetrics } from '../../../../relay/measure/scheduler-metrics.ts';
import { createWaitingPods } from '../../../../relay/watch/waiting-pods.ts';
import {
  NO_FIGURES,
  withPlan,
  type FiguresRecord,
  type PlanFigures,
} from '../../../../shared/contract/figures/plan-figures.ts';
import { createSnapshotBuilder } from '../../../../shared/contract/snapshot/builder.ts';

const NO_ROOM = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];

function podOf(name: string, { waits = false, on = '' } = {}): object {
  return {
    metadata: { name, namespace: 'default', uid: name, creationTimestamp: '2026-11-21T00:00:00Z' },
    spec: { containers: [], ...(on === '' ? {} : { nodeName: on }) },
    status: { phase: 'Pending', conditions: waits ? NO_ROOM : [] },
  };
}

/** What one relay sees and shows. The functions' figures are in `functions`, which several relays can read. */
function openRelay(functions: { record: FiguresRecord | null }, { publishingSinceMs = 0 } = {}) {
  const builder = createSnapshotBuilder('test');
  const waiting = createWaitingPods();
  const state = { nowMs: 0, publishingSinceMs: publishingSinceMs as number | null };
  const metrics = createSchedulerMetrics({
    waiting,
    figures: () => functions.record,
    publishingSinceMs: () => state.publishingSinceMs,
    now: () => state.nowMs,
  });
  const see = (atMs: number, name: string, facts: Parameters<typeof podOf>[1]): void => {
    waiting.apply(builder.upsert('pods', podOf(name, facts)), atMs);
    state.nowMs = Math.max(state.nowMs, atMs);
  };
  const lines = (): ReadonlyArray<string> => metrics.render().split('\n');
  const samples = (name: string): ReadonlyArray<string> =>
    lines().flatMap((line) =>
      line.startsWith(`${name}{`) || line.startsWith(`${name} `) ? line.slice(name.length) : [],
    );
  return {
    state,
    see,
    /** The scheduler finds no room for pods that we knew. */
    wait(atMs: number, ...names: ReadonlyArray<string>): void {
      for (const name of names) see(atMs - 1, name, {});
      for (const name of names) see(atMs, name, { waits: true });
    },
    bind: (atMs: number, name: string) => see(atMs, name, { on: 'n' }),
    remove: (atMs: number, name: string) => waiting.apply(builder.remove('pods', `default/${name}`), atMs),
    samples,
    one: (name: string) => Number(samples(name).join(' ').split(' ').at(-1) ?? Number.NaN),
    text: () => metrics.render(),
  };
}

let plans = 0;

function planned(
  functions: { record: FiguresRecord | null },
  {
    decidedUpToMs,
    atMs,
    fate = 'holds',
    tookMs = 30,
    ...waiting
  }: Partial<PlanFigures['waiting']> & {
    readonly decidedUpToMs: number;
    readonly atMs: number;
    readonly fate?: 'holds' | 'lost';
    readonly tookMs?: number;
  },
): void {
  const figures = { pending: 0, unschedulable: 0, ignored: 0, zones: {}, ...waiting };
  plans += 1;
  const plan = { id: String(plans), atMs, tookMs, decidedUpToMs, waiting: figures };
  functions.record = withPlan(functions.record ?? NO_FIGURES, plan, fate);
}

const QUEUE = 'karpenter_scheduler_queue_depth';
const UNFINISHED = 'karpenter_scheduler_unfinished_work_seconds';
const UNDECIDED = 'karpenter_pods_provisioning_scheduling_undecided_time_seconds';
const UNSCHEDULABLE = 'karpenter_scheduler_unschedulable_pods_count';
const IGNORED = 'karpenter_scheduler_ignored_pods_count';
const ZONES = 'karpenter_scheduler_pending_pods_by_effective_zone_count';
const PLANS = 'karpenter_scheduler_scheduling_duration_seconds';
const DECISIONS = 'karpenter_pods_scheduling_decision_duration_seconds';

const empty = (): { record: FiguresRecord | null } => ({ record: NO_FIGURES });

describe('queue depth [I15]', () => {
  it('is the pods that wait and that no plan has decided about', () => {
    const functions = empty();
    const relay = openRelay(functions);
    expect(relay.samples(QUEUE)).toEqual(['{controller="provisioner"} 0']);
    relay.wait(1_000, 'a', 'b');
    relay.wait(3_000, 'c');
    expect(relay.one(QUEUE)).toBe(3);
    planned(functions, { decidedUpToMs: 2_000, atMs: 2_200 });
    expect(relay.one(QUEUE)).toBe(1);
    planned(functions, { decidedUpToMs: 4_000, atMs: 4_200 });
    expect(relay.one(QUEUE)).toBe(0);
  });

  it('does not fall for a plan that lost: it decided about nobody', () => {
    const functions = empty();
    const relay = openRelay(functions);
    relay.wait(1_000, 'a');
    planned(functions, { decidedUpToMs: 2_000, atMs: 2_200, fate: 'lost' });
    expect(relay.one(QUEUE)).toBe(1);
  });

  it('each such pod shows how long it has waited, and unfinished work how long the first has', () => {
    const functions = empty();
    const relay = openRelay(functions);
    relay.wait(1_000, 'a');
    relay.wait(3_000, 'b');
    relay.state.nowMs = 5_000;
    expect(relay.samples(UNDECIDED)).toEqual(['{name="a",namespace="default"} 4', '{name="b",namespace="default"} 2']);
    expect(relay.samples(UNFINISHED)).toEqual(['{controller="provisioner"} 4']);
    planned(functions, { decidedUpToMs: 4_000, atMs: 4_200 });
    expect([relay.samples(UNDECIDED), relay.samples(UNFINISHED)]).toEqual([[], []]);
  });

  it('of a burst the thousand that wait longest are shown one by one', () => {
    const relay = openRelay(empty());
    relay.wait(2_000, ...Array.from({ length: 1_500 }, (_, index) => `late-${index}`));
    relay.wait(1_000, 'first');
    expect(relay.one(QUEUE)).toBe(1_501);
    expect(relay.samples(UNDECIDED)).toHaveLength(1_000);
    expect(relay.samples(UNDECIDED)[0]).toContain('"first"');
  });
});

describe('what the last plan found [I15]', () => {
  const found = { pending: 3, unschedulable: 2, ignored: 1, zones: { flexible: 1, none: 1, 'westeurope-1': 1 } };

  it('is shown while pods wait that it was for', () => {
    const functions = empty();
    const relay = openRelay(functions);
    relay.wait(1_000, 'a', 'b', 'c', 'nobodys');
    planned(functions, { decidedUpToMs: 2_000, atMs: 2_200, ...found });
    expect(relay.samples(UNSCHEDULABLE)).toEqual(['{controller="provisioner"} 2']);
    expect(relay.samples(IGNORED)).toEqual([' 1']);
    expect(relay.samples(ZONES)).toEqual([
      '{controller="provisioner",zone="flexible"} 1',
      '{controller="provisioner",zone="none"} 1',
      '{controller="provisioner",zone="westeurope-1"} 1',
    ]);
  });

  it('goes to 0 when they have all gone, though no plan says so, and though others wait by now', () => {
    const functions = empty();
    const relay = openRelay(functions);
    relay.wait(1_000, 'a', 'b', 'c', 'nobodys');
    planned(functions, { decidedUpToMs: 2_000, atMs: 2_200, ...found });
    relay.bind(3_000, 'a');
    relay.remove(3_000, 'b');
    relay.remove(3_000, 'nobodys');
    expect(relay.one(UNSCHEDULABLE)).toBe(1);
    relay.remove(3_000, 'c');
    expect([relay.one(UNSCHEDULABLE), relay.one(IGNORED), relay.samples(ZONES)]).toEqual([0, 0, []]);
    relay.wait(4_000, 'd');
    expect([relay.one(UNSCHEDULABLE), relay.one(IGNORED), relay.samples(ZONES)]).toEqual([0, 0, []]);
  });

  it('goes away when plans have not come for a quarter of an hour, while pods wait', () => {
    const functions = empty();
    const relay = openRelay(functions);
    relay.wait(1_000, 'a', 'b');
    planned(functions, { decidedUpToMs: 2_000, atMs: 2_200, ...found });
    relay.state.nowMs = 2_200 + 15 * 60_000;
    expect(relay.one(UNSCHEDULABLE)).toBe(2);
    relay.state.nowMs += 1;
    expect([UNSCHEDULABLE, IGNORED, ZONES].flatMap((name) => relay.samples(name))).toEqual([]);
  });
});

describe('durations [I15]', () => {
  it('of plans are those of the functions, whoever made them', () => {
    const functions = empty();
    const relay = openRelay(functions);
    planned(functions, { decidedUpToMs: 1_000, atMs: 1_200, tookMs: 7 });
    planned(functions, { decidedUpToMs: 1_000, atMs: 1_300, tookMs: 600, fate: 'lost' });
    expect(relay.samples(`${PLANS}_bucket`).slice(0, 3)).toEqual([
      '{controller="provisioner",le="0.005"} 0',
      '{controller="provisioner",le="0.01"} 1',
      '{controller="provisioner",le="0.025"} 1',
    ]);
    expect(relay.samples(`${PLANS}_bucket`).slice(-1)).toEqual(['{controller="provisioner",le="+Inf"} 2']);
    expect([relay.one(`${PLANS}_sum`), relay.one(`${PLANS}_count`)]).toEqual([0.607, 2]);
    expect(relay.text()).toContain(`# TYPE ${PLANS} histogram`);
  });

  it('of decisions are from when a pod was seen to wait until the first plan that knew of it', () => {
    const functions = empty();
    const relay = openRelay(functions);
    relay.wait(1_000, 'a');
    relay.wait(1_500, 'b');
    planned(functions, { decidedUpToMs: 1_200, atMs: 1_400 });
    planned(functions, { decidedUpToMs: 1_600, atMs: 2_000 });
    planned(functions, { decidedUpToMs: 9_000, atMs: 9_500 });
    // 400 ms of the one, 500 ms of the other.
    expect([relay.one(`${DECISIONS}_count`), relay.one(`${DECISIONS}_sum`)]).toEqual([2, 0.9]);
    relay.state.nowMs = 60_000;
    expect([relay.one(`${DECISIONS}_count`), relay.one(`${DECISIONS}_sum`)]).toEqual([2, 0.9]);
  });

  it('count a pod that had its place before anybody scraped, and none that no plan was for', () => {
    const functions = empty();
    const relay = openRelay(functions);
    relay.wait(1_000, 'a', 'b');
    planned(functions, { decidedUpToMs: 1_200, atMs: 1_400 });
    relay.bind(2_000, 'a');
    relay.wait(3_000, 'c');
    relay.bind(3_100, 'c');
    planned(functions, { decidedUpToMs: 4_000, atMs: 4_100 });
    expect([relay.one(`${DECISIONS}_count`), relay.one(`${DECISIONS}_sum`)]).toEqual([2, 0.8]);
  });

  it('count a pod that had its place before the figures of its plan were there, however often one scraped', () => {
    const functions: { record: FiguresRecord | null } = { record: null };
    const relay = openRelay(functions);
    relay.wait(1_000, 'a');
    relay.bind(1_500, 'a');
    expect(relay.text()).toBe('');
    planned(functions, { decidedUpToMs: 1_200, atMs: 1_400 });
    expect([relay.one(`${DECISIONS}_count`), relay.one(`${DECISIONS}_sum`)]).toEqual([1, 0.4]);
    relay.wait(2_000, 'b');
    relay.bind(2_500, 'b');
    expect(relay.one(`${DECISIONS}_count`)).toBe(1);
    planned(functions, { decidedUpToMs: 2_200, atMs: 2_300 });
    expect([relay.one(`${DECISIONS}_count`), relay.one(`${DECISIONS}_sum`)]).toEqual([2, 0.7]);
    expect(relay.one(`${DECISIONS}_count`)).toBe(2);
  });

  it('count a pod of which another plan, on an older snapshot, was recorded beside its own', () => {
    const functions = empty();
    const relay = openRelay(functions);
    relay.wait(1_000, 'a', 'b');
    relay.bind(1_800, 'b');
    planned(functions, { decidedUpToMs: 1_200, atMs: 5_000 });
    planned(functions, { decidedUpToMs: 1_300, atMs: 1_400 });
    planned(functions, { decidedUpToMs: 2_000, atMs: 2_100 });
    expect([relay.one(`${DECISIONS}_count`), relay.one(`${DECISIONS}_sum`)]).toEqual([2, 0.8]);
  });

  it('count a pod once that began to wait as the snapshot was taken, and not one that had its place as it was', () => {
    const functions = empty();
    const relay = openRelay(functions);
    relay.wait(1_000, 'a', 'b');
    relay.wait(1_200, 'c');
    relay.bind(1_200, 'b');
    planned(functions, { decidedUpToMs: 1_200, atMs: 1_400 });
    expect([relay.one(`${DECISIONS}_count`), relay.one(`${DECISIONS}_sum`)]).toEqual([2, 0.6]);
    planned(functions, { decidedUpToMs: 1_300, atMs: 1_500 });
    expect(relay.one(`${DECISIONS}_count`)).toBe(2);
  });

  it('count a pod that came after a plan’s snapshot and had its place before anybody scraped', () => {
    const functions = empty();
    const relay = openRelay(functions);
    relay.wait(1_000, 'a');
    relay.wait(1_300, 'b');
    relay.bind(1_350, 'b');
    planned(functions, { decidedUpToMs: 1_200, atMs: 1_400 });
    expect(relay.one(`${DECISIONS}_count`)).toBe(1);
    planned(functions, { decidedUpToMs: 1_310, atMs: 1_600 });
    expect([relay.one(`${DECISIONS}_count`), relay.one(`${DECISIONS}_sum`)]).toEqual([2, 0.7]);
  });

  it('count the last pods of many that waited and were placed while no plan was made', () => {
    const functions = empty();
    const relay = openRelay(functions);
    for (let index = 0; index < 10_000; index++) {
      relay.wait(1_000, `p-${index}`);
      relay.bind(1_500, `p-${index}`);
    }
    expect(relay.one(`${DECISIONS}_count`)).toBe(0);
    relay.wait(3_000, 'a');
    relay.bind(3_900, 'a');
    planned(functions, { decidedUpToMs: 3_200, atMs: 3_400 });
    expect([relay.one(`${DECISIONS}_count`), relay.one(`${DECISIONS}_sum`)]).toEqual([1, 0.4]);
  });

  it('of decisions leave out pods that waited already when they were first seen: nobody knows since when', () => {
    const functions = empty();
    const relay = openRelay(functions);
    relay.see(1_000, 'old', { waits: true });
    relay.see(1_000, 'older', { waits: true });
    planned(functions, { decidedUpToMs: 2_000, atMs: 2_100 });
    relay.bind(3_000, 'older');
    expect([relay.one(`${DECISIONS}_count`), relay.one(QUEUE)]).toEqual([0, 0]);
  });
});

describe('nothing is counted twice [I15]', () => {
  it('a relay that starts again shows the same plans, and no decision that was counted before', () => {
    const functions = empty();
    const first = openRelay(functions);
    first.wait(1_000, 'a');
    planned(functions, { decidedUpToMs: 1_200, atMs: 1_400 });
    expect([first.one(`${PLANS}_count`), first.one(`${DECISIONS}_count`)]).toEqual([1, 1]);
    const again = openRelay(functions, { publishingSinceMs: 5_000 });
    again.see(4_900, 'a', { waits: true });
    planned(functions, { decidedUpToMs: 6_000, atMs: 6_100 });
    expect([again.one(`${PLANS}_count`), again.one(`${DECISIONS}_count`)]).toEqual([2, 0]);
  });

  it('of two relays that see the same one shows and counts; who follows goes on where it ended', () => {
    const functions = empty();
    const [leader, standby] = [openRelay(functions), openRelay(functions)];
    standby.state.publishingSinceMs = null;
    for (const relay of [leader, standby]) relay.wait(1_000, 'a', 'b');
    planned(functions, { decidedUpToMs: 1_200, atMs: 1_400 });
    expect([leader.one(`${DECISIONS}_count`), standby.text()]).toEqual([2, '']);
    for (const relay of [leader, standby]) relay.bind(1_900, 'b');
    standby.text();
    leader.state.publishingSinceMs = null;
    standby.state.publishingSinceMs = 2_000;
    for (const relay of [leader, standby]) relay.wait(3_000, 'c');
    planned(functions, { decidedUpToMs: 3_200, atMs: 3_300 });
    expect([leader.text(), standby.one(`${DECISIONS}_count`), standby.one(`${DECISIONS}_sum`)]).toEqual(['', 1, 0.3]);
  });

  it('without figures nothing is claimed: neither that plans were made nor that pods are undecided', () => {
    const relay = openRelay({ record: null });
    relay.wait(1_000, 'a');
    expect(relay.text()).toBe('');
  });
});
