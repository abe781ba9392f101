import { eventsOf } from '../kit/world.ts';

/** What leads from a pod to its machine: names that the log has. Empty where it does not. */
export interface Way {
  readonly decision: string;
  readonly claim: string;
  /** The VM. */
  readonly machine: string;
}

/**
 * As the workbook's query `pod-to-machine` goes: by the pods of a new claim, then by the claim's name. `pod`:
 * NAMESPACE/NAME.
 */
export function followPod(lines: ReadonlyArray<string>, pod: string): Way {
  const all = eventsOf(lines);
  const made = all.find(
    ({ event, facts }) => event === 'nodeclaim-created' && textOf(facts['pods']).split(',').includes(pod),
  );
  const claim = textOf(made?.facts['claim']);
  const launched = all.find(({ event, facts }) => event === 'nodeclaim-launched' && facts['claim'] === claim);
  return { decision: textOf(made?.facts['decision']), claim, machine: textOf(launched?.facts['vm']) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
