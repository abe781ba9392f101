import type { Ports } from './ports.ts';

/** A moment at which all waiting is over. */
export interface End {
  /**
   * Calls, and returns as the call does; once the end has come it throws a RetryableError, and so does each later one
   * without calling.
   */
  before<Answer>(call: () => Promise<Answer>): Promise<Answer>;
}

/**
 * Ports that end with their execution: a caller that waits in one of them when `acting` ends gets an error, and nothing
 * is asked of the outside after it; hints about what was done, and what was not, may be sent until `telling` ends. What
 * has been asked may still take effect, as where an answer is lost.
 */
export function portsUntil(ports: Ports, { acting, telling }: { readonly acting: End; readonly telling: End }): Ports {
  return {
    ...ports,
    sleep: (ms) => acting.before(() => ports.sleep(ms)),
    kubernetes: endingWith(acting, ports.kubernetes),
    definitions: endingWith(acting, ports.definitions),
    cloud: endingWith(acting, ports.cloud),
    nodeClassFacts: endingWith(acting, ports.nodeClassFacts),
    catalogs: endingWith(acting, ports.catalogs),
    snapshots: endingWith(acting, ports.snapshots),
    decisions: endingWith(acting, ports.decisions),
    deviceMemory: endingWith(acting, ports.deviceMemory),
    figuresLog: endingWith(acting, ports.figuresLog),
    ledger: endingWith(acting, ports.ledger),
    turns: endingWith(acting, ports.turns),
    hints: endingWith(telling, ports.hints),
  };
}

/** A port, all of whose functions answer with promises, that nobody waits for beyond the end. */
export function endingWith<Port extends object>(end: End, port: Port): Port {
  return new Proxy(port, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: ReadonlyArray<unknown>) =>
        end.before(async (): Promise<unknown> => Reflect.apply(member, target, given));
    },
  });
}
