import { at, type Json, type JsonObject, listAt, numberAt, textAt } from '../json.ts';
import { age, ageOf } from './cell-text.ts';

function restartedLast(statuses: ReadonlyArray<Json>): string {
  const times = statuses.map((status) => textAt(status, 'lastState', 'terminated', 'finishedAt'));
  return times.toSorted().at(-1) ?? '';
}

/** The reason that a container's state gives, as kubectl shows it, or ''. */
function stateReason(status: Json): string {
  const waiting = textAt(status, 'state', 'waiting', 'reason');
  if (waiting !== '') return waiting;
  const terminated = at(status, 'state', 'terminated');
  if (terminated === undefined) return '';
  const signal = numberAt(terminated, 0, 'signal');
  return (
    textAt(terminated, 'reason') ||
    (signal === 0 ? `ExitCode:${numberAt(terminated, 0, 'exitCode')}` : `Signal:${signal}`)
  );
}

/** What the init containers say, while one of them is not done. */
function initReason(pod: JsonObject): string {
  const statuses = listAt(pod, 'status', 'initContainerStatuses');
  const total = listAt(pod, 'spec', 'initContainers').length;
  for (const [index, status] of statuses.entries()) {
    const isDone =
      at(status, 'state', 'terminated') !== undefined && numberAt(status, 0, 'state', 'terminated', 'exitCode') === 0;
    const isSidecar = textAt(listAt(pod, 'spec', 'initContainers')[index], 'restartPolicy') === 'Always';
    if (isDone || (isSidecar && at(status, 'started') === true)) continue;
    const reason = stateReason(status);
    return reason !== '' && reason !== 'PodInitializing' ? `Init:${reason}` : `Init:${index}/${total}`;
  }
  return '';
}

function statusOf(pod: JsonObject): string {
  let reason = textAt(pod, 'status', 'reason') || textAt(pod, 'status', 'phase');
  const conditions = listAt(pod, 'status', 'conditions');
  const isGated = conditions.some(
    (condition) => textAt(condition, 'type') === 'PodScheduled' && textAt(condition, 'reason') === 'SchedulingGated',
  );
  if (isGated) reason = 'SchedulingGated';
  const init = initReason(pod);
  const reasons = listAt(pod, 'status', 'containerStatuses').map(stateReason);
  if (init === '') reason = reasons.find((text) => text !== '') ?? reason;
  else reason = init;
  if (textAt(pod, 'metadata', 'deletionTimestamp') === '') return reason;
  return textAt(pod, 'status', 'reason') === 'NodeLost' ? 'Unknown' : 'Terminating';
}

function readinessGates(pod: JsonObject): string {
  const gates = listAt(pod, 'spec', 'readinessGates');
  if (gates.length === 0) return '<none>';
  const conditions = listAt(pod, 'status', 'conditions');
  const passed = gates.filter((gate) =>
    conditions.some(
      (condition) =>
        textAt(condition, 'type') === textAt(gate, 'conditionType') && textAt(condition, 'status') === 'True',
    ),
  );
  return `${passed.length}/${gates.length}`;
}

/** The cells of a pod. */
export function podCells(pod: JsonObject, nowMs: number): Array<Json> {
  const statuses = listAt(pod, 'status', 'containerStatuses');
  const ready = statuses.filter(
    (status) => at(status, 'ready') === true && at(status, 'state', 'running') !== undefined,
  ).length;
  const restarts = statuses.reduce<number>((total, status) => total + numberAt(status, 0, 'restartCount'), 0);
  const last = restartedLast(statuses);
  return [
    textAt(pod, 'metadata', 'name'),
    `${ready}/${listAt(pod, 'spec', 'containers').length}`,
    statusOf(pod),
    restarts > 0 && last !== '' ? `${restarts} (${ageOf(last, nowMs)} ago)` : String(restarts),
    age(pod, nowMs),
    textAt(pod, 'status', 'podIP') || '<none>',
    textAt(pod, 'spec', 'nodeName') || '<none>',
    textAt(pod, 'status', 'nominatedNodeName') || '<none>',
    readinessGates(pod),
  ];
}
