import type { Faults } from '../world/faults.ts';

/**
 * What a seed has drawn, one line for each group of faults that there are; chances in percent. `policies`: what each
 * has done.
 */
export function renderDrawn(faults: Faults, policies: ReadonlyArray<string>): ReadonlyArray<string> {
  const { azure, queues, calls, events, nodes, clocks, wishes, relayComesAfterMs, olderApiServers } = faults;
  const { soldOut, ...chances } = azure;
  const lines = [
    named('azure', { ...chances, soldOut: [...soldOut].join(' ') }),
    named('queues', queues),
    named('calls', calls),
    named('events a minute', events),
    named('nodes that join', nodes),
    named('clocks', clocks),
    named('wishes', wishes),
    named('from the start', { relayComesAfterMs, olderApiServers }),
    ...policies.map((line) => `policy: ${line}`),
  ];
  return lines.filter((line) => line !== null);
}

function named(group: string, values: object): string | null {
  const drawn = Object.entries(values as Readonly<Record<string, unknown>>).filter(([, value]) => Boolean(value));
  if (drawn.length === 0) return null;
  return `${group}: ${drawn.map(([name, value]) => (value === true ? name : `${name} ${String(value)}`)).join(', ')}`;
}
