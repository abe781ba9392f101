import type { Container, PodSpec, ResourceRequirements } from '../../kubernetes/manifest.ts';
import { addAmounts, parseAmounts, raiseAmounts, type Amounts } from '../../kubernetes/text/quantity.ts';

/** What kube-scheduler reserves on a node for a pod of this spec, `pods: 1` included. */
export function podRequests(spec: PodSpec): Amounts {
  const running = new Map<string, number>();
  for (const container of spec.containers) addAmounts(running, containerRequests(container));
  const sidecars = new Map<string, number>();
  const starting = new Map<string, number>();
  for (const container of spec.initContainers ?? []) {
    const requests = containerRequests(container);
    if (container.restartPolicy === 'Always') addAmounts(sidecars, requests);
    const together = new Map(sidecars);
    if (container.restartPolicy !== 'Always') addAmounts(together, requests);
    raiseAmounts(starting, together);
  }
  const total = raiseAmounts(addAmounts(running, sidecars), starting);
  for (const [name, amount] of podLevelRequests(spec.resources, total)) total.set(name, amount);
  addAmounts(total, parseAmounts(spec.overhead, 'up'));
  return total.set('pods', 1);
}

/** Requests, with limits for what has no request: the API server's defaulting, which templates have not had. */
function containerRequests(container: Container): Amounts {
  const amounts = parseAmounts(container.resources?.limits, 'up');
  for (const [name, amount] of parseAmounts(container.resources?.requests, 'up')) amounts.set(name, amount);
  for (const held of container.held ?? []) raiseAmounts(amounts, parseAmounts(held, 'up'));
  return amounts;
}

/** Pod-level requests take the place of the containers' sum; only CPU, memory and huge pages may be given there. */
function podLevelRequests(resources: ResourceRequirements | undefined, containers: Amounts): Amounts {
  const amounts = parseAmounts(resources?.requests, 'up');
  for (const [name, limit] of parseAmounts(resources?.limits, 'up')) {
    if (!amounts.has(name) && !containers.has(name)) amounts.set(name, limit);
  }
  return new Map([...amounts].filter(([name]) => isPodLevelResource(name)));
}

function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}
