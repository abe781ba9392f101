import { keysHint, renderHints } from '../../sandbox/start/screen/hints.ts';
import type { Display } from '../../sandbox/start/screen/display.ts';
import type { Screenful } from '../../sandbox/start/screen/render-screen.ts';
import { createRunLog, type RunLog } from '../../sandbox/start/record/run-log.ts';
import { buildView } from '../../sandbox/start/view/build-view.ts';
import type { NodeClaim } from '../../sandbox/start/view/cluster-objects.ts';
import type { PriceOf } from '../../sandbox/start/view/price-list.ts';
import type { KubernetesObject } from '../../sandbox/kubernetes/client/objects.ts';
import type { Recording } from './recording.ts';

/** Everything that the live screen would have shown at the end of the recording. Pure: no clock, no timers. */
export function replay(recording: Recording, priceOf: PriceOf): Screenful {
  const { elapsedMs, startedAt, shortages, disruption, deployment, kubeconfigPath } = recording;
  const log = replayLog(recording);
  const sources = {
    pods: byKey(recording.pods),
    nodes: byKey(recording.nodes),
    claims: byKey(recording.claims),
    budgets: byKey(recording.budgets),
    events: byKey(recording.events),
    claimSeenAt: new Map(recording.created.map(({ atMs, claim }) => [claim.metadata.name, startedAt + atMs])),
    eventSeenAt: new Map<string, number>(),
    // A reason that had passed is not in the recording.
    plannedAt: new Map<string, number>(),
    shortages: () => shortages,
  };
  const hints = renderHints({
    kubeconfigPath,
    functionsUrl: 'http://127.0.0.1:7071',
    portInUse: null,
    hasKeys: true,
    deployment,
  });
  return {
    view: buildView(sources, priceOf, startedAt + elapsedMs),
    elapsedMs,
    plans: log.plans(),
    savedMicroUsdPerHour: log.savedMicroUsdPerHour(),
    news: log.news(),
    disruption,
    scrolled: { nodes: 0, news: 0 },
    hints: [...hints, keysHint(disruption)],
  };
}

/** The log of the run, told again with a clock that the recording moves. */
export function replayLog({ created, log: logged, said, elapsedMs }: Recording): RunLog {
  let now = 0;
  let acts: ReadonlyArray<{ readonly atMs: number; readonly act: () => void }> = [];
  const later = (act: () => void, ms: number): void => {
    acts = [...acts, { atMs: now + ms, act }].toSorted((a, b) => a.atMs - b.atMs);
  };
  const claims = (): ReadonlyMap<string, NodeClaim> =>
    byKey(created.flatMap(({ atMs, claim }) => (atMs <= now ? [claim] : [])));
  const log = createRunLog(mute, () => now, claims, later);
  for (const { atMs, ...event } of logged) later(() => log.tellApp(event), atMs);
  for (const { atMs, tone, text } of said) later(() => log.say(tone, text), atMs);
  for (let next = acts[0]; next !== undefined && next.atMs <= elapsedMs; next = acts[0]) {
    acts = acts.slice(1);
    now = next.atMs;
    next.act();
  }
  return log;
}

function byKey<T extends KubernetesObject>(objects: ReadonlyArray<T>): ReadonlyMap<string, T> {
  return new Map(objects.map((object) => [keyOf(object), object]));
}

function keyOf({ metadata: { name, namespace = '' } }: KubernetesObject): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

const nothing = (): void => undefined;
const mute: Display = {
  started: nothing,
  ready: nothing,
  said: nothing,
  event: nothing,
  show: nothing,
  scroll: nothing,
  last: nothing,
  close: nothing,
};
