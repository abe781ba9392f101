import type { Plan } from '../../core/model/plan.ts';
import type { Gathered } from '../gather/gather.ts';
import type { Ports } from '../ports/ports.ts';
import { renderOffering } from '../../core/telling/cheaper/size-reason.ts';
import { tellWaitingPods, type PodNews } from './tell-waiting-pods.ts';

/**
 * Tells pods that wait where their place is, under Karpenter's reason and in its words, and what the node that comes
 * for them is and costs: who looks at a pod sees that help is on its way. `claimNames`: of the plan's claims, null for
 * one that was not created.
 */
export async function tellNominated(
  ports: Ports,
  { snapshot }: Pick<Gathered, 'snapshot'>,
  { claims, nominations }: Pick<Plan, 'claims' | 'nominations'>,
  claimNames: ReadonlyArray<string | null>,
): Promise<void> {
  const waiting = new Set(snapshot.pods.flatMap(({ uid, nodeName }) => (nodeName === null ? [uid] : [])));
  const created = claims.flatMap(({ pods, offering }, index) => {
    const name = claimNames[index] ?? null;
    return name === null
      ? []
      : [
          {
            pods,
            target: `nodeclaim/${name}`,
            what: `, planned as ${renderOffering(offering, ports.catalogs.currency)}`,
          },
        ];
  });
  const known = nominations.map(({ pods, target: { kind, name } }) => {
    return { pods, target: `${kind === 'claim' ? 'nodeclaim' : 'node'}/${name}`, what: '' };
  });
  const news = [...created, ...known].flatMap(({ pods, target, what }): ReadonlyArray<PodNews> => {
    const message = `Pod should schedule on: ${target}${what}`;
    return pods
      .filter(({ uid }) => waiting.has(uid))
      .map((pod) => ({ pod, key: `nominated/${pod.uid}/${target}`, type: 'Normal', reason: 'Nominated', message }));
  });
  await tellWaitingPods(ports, news);
}
