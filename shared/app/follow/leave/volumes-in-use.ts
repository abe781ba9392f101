import type { Kinds, NodePod } from '../../../ports/kubernetes.ts';
import type { Ports } from '../../ports/ports.ts';
import { isDrainable } from './drain.ts';

/**
 * The attachments of persistent volumes to a node that its machine has to wait for. Those of pods that no drain waits
 * for are none of them: they are detached with the machine, and never before. As Karpenter.
 */
export async function awaitedAttachments(
  ports: Ports,
  nodeName: string,
): Promise<ReadonlyArray<Kinds['VolumeAttachment']>> {
  const attached = (await ports.kubernetes.list('VolumeAttachment')).filter(
    ({ spec }) => spec.nodeName === nodeName && spec.source.persistentVolumeName !== undefined,
  );
  if (attached.length === 0) return [];
  const pods = await ports.kubernetes.list('Pod', { fields: `spec.nodeName=${nodeName}` });
  const staying = pods.filter((pod) => !isDrainable(pod, ports.now()));
  const names = await Promise.all(staying.flatMap((pod) => claimsOf(pod).map((name) => volumeOf(ports, pod, name))));
  const kept = new Set(names);
  return attached.filter(({ spec }) => !kept.has(spec.source.persistentVolumeName));
}

/** Names of the PersistentVolumeClaims of a pod; that of an ephemeral volume is made of the pod's and the volume's. */
function claimsOf({ metadata, spec }: NodePod): ReadonlyArray<string> {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName];
    return ephemeral === undefined ? [] : [`${metadata.name}-${name}`];
  });
}

/** Undefined while it is bound to none, and when it is gone. */
async function volumeOf(ports: Ports, { metadata: { namespace } }: NodePod, name: string): Promise<string | undefined> {
  return (await ports.kubernetes.get('PersistentVolumeClaim', { namespace, name }))?.spec.volumeName;
}
