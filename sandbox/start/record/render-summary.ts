import { capital, counted, renderDuration, renderHourly, renderUsd } from '../view/amounts.ts';
import { padEnd, padStart } from '../screen/ansi.ts';
import type { Percentiles } from './percentiles.ts';
import { gapOf, type Plans } from '../view/plan-gap.ts';
import { heldSentences } from '../screen/reason-lines.ts';
import { shortageSentence } from '../tell/sentences.ts';
import type { PodTimes } from './time-pods.ts';
import type { NodeRow, View } from '../view/view.ts';

/** What a run with `--once` came to. */
export interface Summary {
  readonly view: View;
  readonly plans: Plans;
  readonly times: PodTimes;
  /** Pods that were asked for. */
  readonly wantedPods: number;
  readonly outcome: 'all-run' | 'stuck' | 'too-late';
  /** Where the prices come from. */
  readonly priceSource: string;
}

/** The summary as text of at most 80 columns, but for reasons. */
export function renderSummary(summary: Summary): string {
  const { view, plans, times, outcome } = summary;
  const gap = gapOf(view, plans);
  return [
    '',
    headline(summary),
    ...(outcome === 'all-run' ? [] : reasons(view)),
    ...(view.nodes.length === 0 ? [] : ['', ...nodeGroups(view.nodes)]),
    '',
    ...(gap === null ? [] : [`  The plan                          ${gap}`]),
    ...(plans.decisions < 2
      ? []
      : [`  Planned in                        ${plans.decisions} decisions, so no bound for the whole is known`]),
    `  From unschedulable to VM PUT      ${renderTimes(times.toVmPut)}`,
    `  From unschedulable to running     ${renderTimes(times.toRunning)}`,
    `  Prices: ${summary.priceSource}`,
  ].join('\n');
}

function headline({ view, outcome, wantedPods }: Summary): string {
  const { running, starting, pending } = view.pods;
  if (outcome === 'all-run') {
    const all = running === 1 ? 'The pod runs' : running === 2 ? 'Both pods run' : `All ${counted(running, 'pod')} run`;
    return `${all} on ${counted(view.nodes.length, 'node')} for ${renderHourly(view.microUsdPerHour)}.`;
  }
  const left = pending + starting;
  const missing = Math.max(0, wantedPods - running - left);
  const why = outcome === 'stuck' ? 'and no more nodes can be created' : 'and ten minutes have passed';
  const never = missing > 0 ? ` ${counted(missing, 'pod')} never appeared.` : '';
  return `${capital(counted(running, 'pod'))} run, ${counted(left, 'pod')} ${left === 1 ? 'waits' : 'wait'}, ${why}.${never}`;
}

const REASONS_SHOWN = 5;

function reasons({ nodes, waiting, shortages }: View): ReadonlyArray<string> {
  const quota = shortages.length === 0 ? [] : ['', ...shortages.map((one) => `  ${shortageSentence(one)}`)];
  const shown = waiting.slice(0, REASONS_SHOWN).map(({ reason, pods }) => {
    const names = pods.length === 1 ? (pods[0] ?? '') : `${pods[0] ?? ''} and ${pods.length - 1} more`;
    return `  ${names}: ${reason}`;
  });
  const more = waiting.length - REASONS_SHOWN;
  return [
    ...quota,
    '',
    ...heldSentences(nodes).map((one) => `  ${one}`),
    ...shown,
    ...(more > 0 ? [`  and ${counted(more, 'other reason')}`] : []),
  ];
}

interface Group {
  readonly size: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly microUsdPerHour: number | null;
  readonly nodes: number;
  readonly pods: number;
}

function nodeGroups(rows: ReadonlyArray<NodeRow>): ReadonlyArray<string> {
  const groups = new Map<string, Group>();
  for (const { size, zone, capacityType, microUsdPerHour, pods } of rows) {
    const key = [size, zone, capacityType].join('/');
    const known = groups.get(key);
    const counts = { nodes: (known?.nodes ?? 0) + 1, pods: (known?.pods ?? 0) + pods };
    groups.set(key, { size, zone, capacityType, microUsdPerHour, ...counts });
  }
  const lines = [...groups.values()]
    .toSorted((a, b) => b.nodes - a.nodes || (a.size < b.size ? -1 : a.size > b.size ? 1 : a.zone < b.zone ? -1 : 1))
    .map(groupLine);
  const header = groupColumns(['NODES', 'SIZE', 'ZONE', 'TYPE', '$/H EACH', '$/H', 'PODS']);
  return [header, ...lines];
}

function groupLine({ nodes, size, zone, capacityType, microUsdPerHour, pods }: Group): string {
  const each = microUsdPerHour === null ? '-' : renderUsd(microUsdPerHour);
  const all = microUsdPerHour === null ? '-' : renderUsd(microUsdPerHour * nodes);
  return groupColumns([String(nodes), size, zone, capacityType, each, all, String(pods)]);
}

function groupColumns([
  nodes = '',
  size = '',
  zone = '',
  type = '',
  each = '',
  all = '',
  pods = '',
]: ReadonlyArray<string>): string {
  return [
    padStart(nodes, 7),
    ` ${padEnd(size, 18)}`,
    padEnd(zone, 5),
    padEnd(type, 10),
    padStart(each, 9),
    padStart(all, 9),
    padStart(pods, 6),
  ].join(' ');
}

function renderTimes(times: Percentiles | null): string {
  if (times === null) return 'no pod got that far';
  const { p50, p99, count } = times;
  return `p50 ${renderDuration(p50)}, p99 ${renderDuration(p99)} (${counted(count, 'pod')})`;
}
