import type { SignalHint } from '../../../shared/contract/messages/messages.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import type { ApiServer } from '../world/api-server.ts';
import type { Vm } from '../world/azure.ts';
import type { Queue } from '../world/queue.ts';

interface Parts {
  readonly cluster: string;
  readonly server: ApiServer;
  readonly signals: Queue;
  readonly nowMs: () => number;
  readonly note: (text: string) => void;
}

const MINUTE = 60_000;

/** What was announced for so long ago has passed, by whatever clock. */
const PASSED_MS = 3 * MINUTE;

/**
 * A notice that must not be believed: of a spot machine's preemption about one on demand, of another resource group, of
 * nobody, of a time in 1970, or of a machine that is gone and is there. The laws break where it moves a pod.
 */
export function forgeSignal(parts: Parts, rng: Rng, vms: ReadonlyArray<Vm>): void {
  const vm = vms[rng.below(Math.max(1, vms.length))];
  if (vm === undefined) return;
  const { claim, providerId, capacityType } = vm.machine;
  const vmId = providerId.slice('azure://'.length);
  const own = { vmId, nodeName: `aks-${claim}` };
  const elsewhere = { vmId: vmId.replace('/resourceGroups/sim/', '/resourceGroups/other/'), nodeName: null };
  const nobody = { vmId: '/virtualMachines/aks-nobody', nodeName: 'aks-nobody' };
  const soonMs = parts.nowMs() + 30_000;
  const forged: ReadonlyArray<Partial<SignalHint>> = [
    { ...elsewhere, event: 'preempt', notBeforeMs: soonMs },
    { ...nobody, event: 'terminate', notBeforeMs: soonMs },
    { ...own, event: 'terminate', notBeforeMs: 10_000 },
    { ...own, event: 'gone', unlessThere: true },
    ...(capacityType === 'spot' ? [] : [{ ...own, event: 'preempt', notBeforeMs: soonMs } as const]),
  ];
  const chosen = forged[rng.below(forged.length)] ?? {};
  send(parts, rng, chosen);
  parts.note(`somebody forges ${JSON.stringify(chosen)}`);
}

/**
 * A notice of what has passed by minutes and left the machine as it was: by the node's own condition, which stays, or
 * by Event Grid.
 */
export function tellLate(parts: Parts, rng: Rng, vms: ReadonlyArray<Vm>): void {
  const vm = vms[rng.below(Math.max(1, vms.length))];
  const node = vm === undefined ? null : parts.server.get('nodes', `aks-${vm.machine.claim}`);
  if (vm === undefined || node === null) return;
  const notBeforeMs = parts.nowMs() - PASSED_MS - rng.below(60 * MINUTE);
  const words = (['Reboot', 'Redeploy', 'Terminate'] as const)[rng.below(3)] ?? 'Reboot';
  parts.note(`a ${words} of ${vm.machine.claim} is told ${(parts.nowMs() - notBeforeMs) / 1000} s late`);
  if (rng.chance(50)) {
    const message = `${words} Scheduled: ${new Date(notBeforeMs).toUTCString()}. DurationInSeconds: -1.`;
    const conditions = [
      ...(node.status?.['conditions'] ?? []).filter(
        ({ type }: { readonly type: string }) => type !== 'VMEventScheduled',
      ),
      { type: 'VMEventScheduled', status: 'True', reason: `${words}Scheduled`, message },
    ];
    parts.server.patch('nodes', node.metadata.name, { status: { conditions } }, 'status');
    return;
  }
  const vmId = vm.machine.providerId.slice('azure://'.length);
  const event = words.toLowerCase() as Lowercase<typeof words>;
  send(parts, rng, { vmId, nodeName: node.metadata.name, event, notBeforeMs });
}

function send({ cluster, signals }: Parts, rng: Rng, said: Partial<SignalHint>): void {
  const body = {
    kind: 'signal',
    version: 1,
    cluster,
    vmId: null,
    nodeName: null,
    event: 'gone',
    notBeforeMs: null,
    eventId: null,
    source: 'event-grid',
    ...said,
  };
  signals.send({ id: `stray-${rng.below(1e9)}`, sessionId: null, body, atMs: null });
}
