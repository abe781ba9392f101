import { VOLUNTARY_REASONS } from '../../../core/disruption/plan/disruption-reason.ts';
import { poolsFor } from '../../../core/disruption/candidates/pools.ts';
import type { KeptNode } from '../../../core/disruption/plan/disruption-plan.ts';
import { instant } from '../../../core/quantity/units.ts';
import { type EventNote, publish } from '../../tell/events.ts';
import { eventAbout } from '../../claims/node-claim.ts';
import type { Gathered } from '../../gather/gather.ts';
import { inParallel } from '../../ports/in-parallel.ts';
import type { Ports } from '../../ports/ports.ts';
import { candidatesOf } from '../../../core/disruption/second-look/begun.ts';
import { eventAboutNode, eventAboutPool } from '../../tell/event-about.ts';
import { keptEvent } from './kept-event.ts';

/**
 * An event lives for an hour as clusters are set up: told so often, `kubectl describe` always has one. Karpenter: 2 to
 * 15 minutes.
 */
const TOLD_EVERY_MS = 3_600_000;

/** Events of one look: a request each. The other nodes' come with the next looks. */
const TOLD_MAX = 100;
const TOLD_AT_ONCE = 8;

interface News {
  readonly key: string;
  readonly notes: ReadonlyArray<EventNote>;
}

/**
 * Tells on Node and NodeClaim why nodes stay, and on NodePools that their budgets let none go: each at most once an
 * hour.
 */
export async function tellKept(ports: Ports, gathered: Gathered, kept: ReadonlyArray<KeptNode>): Promise<void> {
  const nowMs = ports.now();
  const chosen: Array<EventNote> = [];
  for (const { key, notes } of [...poolNews(gathered, nowMs), ...nodeNews(gathered, kept, ports.catalogs.currency)]) {
    if (chosen.length >= TOLD_MAX) break;
    if (ports.told.isNews(key, nowMs, TOLD_EVERY_MS)) chosen.push(...notes);
  }
  await inParallel(chosen, TOLD_AT_ONCE, (note) => publish(ports.kubernetes, note, nowMs));
}

function* nodeNews({ snapshot }: Gathered, kept: ReadonlyArray<KeptNode>, currency: string): Iterable<News> {
  const machines = new Map(candidatesOf(snapshot).map((machine) => [machine.node.metadata.name, machine]));
  for (const { node: name, reason: why } of kept) {
    const machine = machines.get(name);
    const event = keptEvent(why, currency);
    if (machine === undefined || event === null) continue;
    const { type, reason, message } = event;
    const dedupe = { key: why.kind, periodMs: TOLD_EVERY_MS };
    const notes = [
      eventAboutNode(machine.node, type, reason, message),
      eventAbout(machine.claim, type, reason, message),
    ];
    yield {
      key: `${machine.claim.metadata.uid ?? name}/${why.kind}`,
      notes: notes.map((note) => ({ ...note, dedupe })),
    };
  }
}

function* poolNews({ input: { cluster } }: Gathered, nowMs: number): Iterable<News> {
  const pools = poolsFor(cluster, instant(nowMs));
  for (const { metadata } of cluster.nodePools) {
    if (pools.nodes(metadata.name) === 0) continue;
    for (const reason of VOLUNTARY_REASONS.filter((one) => pools.allowed(metadata.name, one) === 0)) {
      const message = `No allowed disruptions for disruption reason ${reason} due to blocking budget`;
      const note = { ...eventAboutPool({ metadata }, 'Normal', 'DisruptionBlocked', message) };
      const dedupe = { key: reason, periodMs: TOLD_EVERY_MS };
      yield { key: `${metadata.uid ?? metadata.name}/${reason}`, notes: [{ ...note, dedupe }] };
    }
  }
}
