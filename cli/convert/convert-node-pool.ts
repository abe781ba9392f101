import type { Fields, Manifest } from '../documents/converted-manifest.ts';
import { checked, compact, fieldsOf, metadataOf, textOf, type Converted } from './converted.ts';

const AZURE = 'karpenter.azure.com';

/** A NodePool of v1beta1 or v1, with fields at the places and values under the names that v1 has. */
export function convertNodePool(value: Fields): Converted {
  const metadata = metadataOf(value['metadata']);
  const spec = fieldsOf(value['spec']);
  const template = fieldsOf(spec['template']);
  const { kubelet, nodeClassRef, expireAfter, ...templateSpec } = fieldsOf(template['spec']);
  const { expireAfter: formerly, consolidationPolicy, consolidateAfter, ...disruption } = fieldsOf(spec['disruption']);
  const ref = toClassRef(nodeClassRef);
  const named = `NodePool ${metadata.name}`;
  const pool: Manifest = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata,
    spec: compact({
      ...spec,
      template: compact({
        ...template,
        spec: { ...templateSpec, nodeClassRef: ref.value, expireAfter: expireAfter ?? formerly ?? 'Never' },
      }),
      disruption: compact({
        ...disruption,
        consolidationPolicy: toPolicy(consolidationPolicy),
        consolidateAfter: consolidateAfter ?? '0s',
      }),
    }),
  };
  const ofClass = kubelet === undefined ? NOTHING : toNodeClass(ref.value.name, fieldsOf(kubelet), named);
  const of = checked(pool);
  return {
    manifests: [...of.manifests, ...ofClass.manifests],
    notes: [...ref.notes.map((note) => `${named}: ${note}`), ...of.notes, ...ofClass.notes],
  };
}

const NOTHING: Converted = { manifests: [], notes: [] };

interface ClassRef {
  readonly value: { readonly group: string; readonly kind: string; readonly name: string };
  readonly notes: ReadonlyArray<string>;
}

/** Only AKSNodeClasses make nodes on AKS: another provider's class becomes the one named default, which AKS brings. */
function toClassRef(given: unknown): ClassRef {
  const { name, kind } = fieldsOf(given);
  const known = textOf(name) ?? 'default';
  if (kind === undefined || kind === 'AKSNodeClass') {
    return { value: { group: AZURE, kind: 'AKSNodeClass', name: known }, notes: [] };
  }
  return {
    value: { group: AZURE, kind: 'AKSNodeClass', name: 'default' },
    notes: [`nodeClassRef named ${String(kind)} ${known}, which is not of Azure: it names AKSNodeClass default now`],
  };
}

function toPolicy(given: unknown): string {
  const text = textOf(given) ?? 'WhenEmptyOrUnderutilized';
  return /^when(?:emptyor)?underutili[sz]ed$/i.test(text) ? 'WhenEmptyOrUnderutilized' : text;
}

/** The kubelet's settings stand in the class since v1; its `maxPods` beside them. */
export function toNodeClass(name: string, kubelet: Fields, from: string): Converted {
  const { maxPods, ...settings } = kubelet;
  const manifest: Manifest = {
    apiVersion: `${AZURE}/v1beta1`,
    kind: 'AKSNodeClass',
    metadata: { name },
    spec: compact({ maxPods, kubelet: settings }),
  };
  const { manifests, notes } = checked(manifest);
  return {
    manifests,
    notes: [`${from}: kubelet moved to AKSNodeClass ${name}: join it with the class that you have`, ...notes],
  };
}
