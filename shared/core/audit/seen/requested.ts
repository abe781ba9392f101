import type { Container, PodSpec, ResourceList } from '../../../kubernetes/manifest.ts';
import { parseQuantity } from '../../../kubernetes/text/quantity.ts';

/** CPU in thousandths, all else in whole units, rounded as told. Written for the audit alone. */
export function amountsOf(list: ResourceList | undefined, rounding: 'up' | 'down'): Map<string, number> {
  return new Map(
    Object.entries(list ?? {}).map(([name, text]) => {
      const amount = parseQuantity(text, name === 'cpu' ? 1000 : 1, rounding);
      return [name, amount ?? (rounding === 'up' ? Number.MAX_SAFE_INTEGER : 0)];
    }),
  );
}

/**
 * The most that a pod needs at any time: while it runs, or while one of its init containers does; with its overhead.
 */
export function requestedBy(spec: PodSpec): Map<string, number> {
  const total = new Map<string, number>();
  for (const name of resourceNames(spec)) {
    const of = (container: Container): number => {
      const { requests, limits } = container.resources ?? {};
      const lists = [requests?.[name] ?? limits?.[name] ?? 0, ...(container.held ?? []).map((held) => held[name] ?? 0)];
      return Math.max(...lists.map((text) => amountsOf({ [name]: text }, 'up').get(name) ?? 0));
    };
    let [sidecars, starting] = [0, 0];
    for (const container of spec.initContainers ?? []) {
      const amount = sidecars + of(container);
      starting = Math.max(starting, amount);
      if (container.restartPolicy === 'Always') sidecars = amount;
    }
    const running = spec.containers.reduce((sum, container) => sum + of(container), sidecars);
    const whole = wholePod(spec, name);
    const overhead = amountsOf({ [name]: spec.overhead?.[name] ?? 0 }, 'up').get(name) ?? 0;
    total.set(name, (whole ?? Math.max(running, starting)) + overhead);
  }
  return total.set('pods', 1);
}

function wholePod(spec: PodSpec, name: string): number | null {
  if (name !== 'cpu' && name !== 'memory' && !name.startsWith('hugepages-')) return null;
  const { requests, limits } = spec.resources ?? {};
  const inContainers = [...spec.containers, ...(spec.initContainers ?? [])].some(
    ({ resources }) => resources?.requests?.[name] !== undefined || resources?.limits?.[name] !== undefined,
  );
  const text = requests?.[name] ?? (inContainers ? undefined : limits?.[name]);
  return text === undefined ? null : (amountsOf({ [name]: text }, 'up').get(name) ?? null);
}

function resourceNames(spec: PodSpec): ReadonlySet<string> {
  const all = [...spec.containers, ...(spec.initContainers ?? []), { resources: spec.resources }];
  const lists = all.flatMap(({ resources }) => [resources?.requests, resources?.limits]);
  const held = [...spec.containers, ...(spec.initContainers ?? [])].flatMap((container) => container.held ?? []);
  return new Set([...lists, ...held, spec.overhead].flatMap((list) => Object.keys(list ?? {})));
}
