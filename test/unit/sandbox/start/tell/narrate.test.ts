import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { AppEvent } from '../../../../../sandbox/start/view/app-events.ts';
import { paint } from '../../../../../sandbox/start/screen/ansi.ts';
import type { NodeClaim } from '../../../../../sandbox/start/view/cluster-objects.ts';
import { createNarrator } from '../../../../../sandbox/start/tell/narrate.ts';
import { newsLines } from '../../../../../sandbox/start/screen/news-lines.ts';
import { SILENT } from '../../../../../sandbox/start/tell/tell-event.ts';
import type { Sentence } from '../../../../../sandbox/start/view/view.ts';
import { annotation } from '../../../../../shared/contract/names.ts';

/** Every event that the page about logs has, with its fields. */
const page = readFileSync(join(import.meta.dirname, '../../../../../docs/logs.md'), 'utf8');
const events = [...page.matchAll(/^\| `([a-z-]+)` \| ([^|]*) \|/gm)].map(([, event = '', fields = '']) => ({
  event,
  fields: [...fields.matchAll(/`(\w+)`/g)].map(([, field = '']) => field),
}));

const LONG_NAME = 'team-payments-production-general-purpose-2brfra8z';
const SENTENCE = 'what somebody else has said about it goes on for rather longer than a line of a terminal is wide; ';
const ENDINGS: ReadonlyArray<readonly [RegExp, unknown]> = [
  [/Ms$/, 754_321],
  [/MicroPerHour$/, 123_456_789],
  [/^(why|reason|message|error|said|fix)$/, SENTENCE.repeat(6)],
  [/^nodes$/, `aks-${LONG_NAME},aks-${LONG_NAME}2`],
  [/^replacements$/, 'a,b,c'],
  [/^(claims|evicted|of|bufferPods|left|planned|refusedSizes|stillWaiting|tried|times)$/, 30],
  [/^(zone)$/, 'westeurope-1'],
  [/^until$/, '2026-11-26T12:00:00.000Z'],
  [/^instanceType$/, 'Standard_NC24ads_A100_v4'],
  [/^step$/, 'name-replacements'],
  [/^act$/, 'patch the status of'],
  [/^kind$/, 'NodeClaim'],
  [/^policy$/, 'deny-without-cost-center'],
  [/^function$/, 'interrupt'],
  [/^decision$/, 'decision-1'],
  // Of a node that is drained only this cause is told.
  [/^cause$/, 'deleted'],
];

/**
 * Facts as long as a cluster with long names and many pods makes them. `said`: whether somebody else's words are among
 * them.
 */
function longest(event: string, fields: ReadonlyArray<string>, said = SENTENCE.repeat(6)): AppEvent {
  const pods = Array.from({ length: 30 }, (_, index) => `default/inflate-fkmgkjmjmg-${String(index).padStart(5, 'p')}`);
  const facts = fields.map((field) => {
    if (field === 'pods') return [field, event === 'nodeclaim-created' ? pods.join(',') : 30];
    const found = ENDINGS.find(([pattern]) => pattern.test(field))?.[1] ?? LONG_NAME;
    return [field, typeof found === 'string' && found.startsWith(SENTENCE) ? said : found];
  });
  return { event, facts: Object.fromEntries(facts) as AppEvent['facts'] };
}

const claims = new Map(
  Array.from({ length: 30 }, (_, index) => {
    const offering = `Standard_NC${24 * (1 + (index % 6))}ads_A100_v4/westeurope-1/spot`;
    const annotations = { [annotation.decision]: 'decision-1', [annotation.plannedOffering]: offering };
    return [`c${index}`, { metadata: { name: `c${index}`, annotations } } as unknown as NodeClaim] as const;
  }),
);

/** What is told of the events that come together. `after`: what has been told before. */
function told(event: AppEvent, after: ReadonlyArray<AppEvent> = [], ...more: ReadonlyArray<AppEvent>) {
  let said: Array<Sentence> = [];
  const narrator = createNarrator({
    claims: () => claims,
    say: (tone, text) => void said.push({ atMs: 3_725_000, tone, text }),
  });
  for (const one of after) narrator.tellApp(one);
  vi.advanceTimersByTime(10_000);
  said = [];
  for (const one of [event, ...more]) narrator.tellApp(one);
  vi.advanceTimersByTime(10_000);
  narrator.close();
  return said;
}

/** What an event is told after: only nodes that have joined are removed. */
function before({ event, facts }: AppEvent): ReadonlyArray<AppEvent> {
  return event === 'nodeclaim-terminated' ? [{ event: 'nodeclaim-registered', facts }] : [];
}

function linesOf(news: ReadonlyArray<Sentence>): ReadonlyArray<string> {
  return newsLines(news, { columns: 80, height: 20 }).map((line) => paint(line, false));
}

describe('what the app logs', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('is on the page about logs, whose rows are read here', () => {
    expect(events.length).toBeGreaterThan(60);
  });

  test.each(events)('$event is one sentence of at most two lines, or silent', ({ event, fields }) => {
    const longer = longest(event, fields);
    const news = told(longer, before(longer));
    expect(news.length).toBe(SILENT.has(event) ? 0 : 1);
    for (const { text } of news) expect(text).toMatch(/^[A-Za-z\d].*[^.]\.$/);
    expect(linesOf(news).length).toBeLessThanOrEqual(2);
  });

  test.each(events)('$event has no line cut where nobody else is quoted', ({ event, fields }) => {
    expect(linesOf(told(longest(event, fields, 'no'))).filter((line) => line.includes('…'))).toEqual([]);
  });

  test.each(events)('$event says nothing in the way of a log: no list of fields, no object', ({ event, fields }) => {
    for (const { text } of told(longest(event, fields, 'no')))
      expect(text).not.toMatch(/[{}]|undefined|NaN|\b[a-z]+[A-Z]\w+ /);
  });

  test('is silent where this page does not know it', () => {
    expect(told({ event: 'never-seen', facts: { claim: 'a' } })).toEqual([]);
  });

  test('is one sentence for a VM that Azure could not create: with its code, and no removal of a node that never was', () => {
    const claim = { claim: 'a' };
    const message = 'ZonalAllocationFailed: Allocation failed. We do not have sufficient capacity';
    const failed = { event: 'nodeclaim-deleted', facts: { ...claim, reason: 'AsyncProvisioningError', message } };
    expect(told(failed, [], { event: 'nodeclaim-terminated', facts: claim }).map(({ text }) => text)).toEqual([
      'Azure could not create aks-a (ZonalAllocationFailed); its pods are planned again.',
    ]);
  });

  test('is one sentence for a claim that is refused its last offering', () => {
    const offering = { instanceType: 'Standard_D8ls_v5', zone: 'westeurope-2', reason: 'RegionalQuotaReached' };
    const refused = { event: 'offering-refused', facts: { claim: 'a', ...offering } };
    const gone = {
      event: 'nodeclaim-deleted',
      facts: { claim: 'a', reason: 'InsufficientCapacityError', message: 'm' },
    };
    expect(told(refused, [], gone).map(({ text }) => text)).toEqual([
      'Azure refuses D8ls_v5 in zone 2 (RegionalQuotaReached): the pods are planned again.',
    ]);
    const another = { ...gone, facts: { ...gone.facts, claim: 'b' } };
    expect(told(refused, [], another).map(({ text }) => text)).toEqual([
      'aks-b is being removed: m.',
      'Azure refuses D8ls_v5 in zone 2 (RegionalQuotaReached): trying the next best.',
    ]);
  });

  test('says once per shortage why VMs are on demand', () => {
    const facts = { decision: 'd', refusedSizes: 5, until: '2026-11-26T12:00:00.000Z' };
    const avoided = { event: 'spot-avoided', facts };
    const another = { event: 'spot-avoided', facts: { ...avoided.facts, until: '2026-11-26T12:05:00.000Z' } };
    expect(told(avoided, [], avoided).map(({ text }) => text)).toEqual([
      'Azure had no spot VM of 5 sizes: on-demand VMs are chosen for up to ten minutes.',
    ]);
    expect(told(avoided, [avoided])).toEqual([]);
    expect(told(another, [avoided]).length).toBe(1);
  });

  test('is silent where it is a step that others tell better', () => {
    expect(told({ event: 'node-opened', facts: { claim: 'a', planned: 3, stillWaiting: 0 } })).toEqual([]);
  });

  test('is one sentence for many steps that wait for the same thing outside', () => {
    const said: Array<string> = [];
    const narrator = createNarrator({ claims: () => claims, say: (_, text) => void said.push(text) });
    for (let hint = 0; hint < 3; hint++) narrator.tellApp({ event: 'retry-later', facts: { error: 'Azure is busy.' } });
    narrator.close();
    expect(said).toEqual(['3 steps are tried again soon: Azure is busy.']);
  });
});
