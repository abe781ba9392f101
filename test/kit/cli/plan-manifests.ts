import { Readable } from 'node:stream';
import { vi } from 'vitest';
import type { PlanOptions } from '../../../cli/command.ts';
import type { PlanDocument } from '../../../cli/documents/plan-format.ts';
import { planFromFiles, type PlanOutcome } from '../../../cli/plan/plan-from-files.ts';
import { WrongInputError } from '../../../cli/wrong-input.ts';

// A plan over all sizes of a region takes a tenth of a second, and ten times that on a machine that is busy otherwise.
vi.setConfig({ testTimeout: 30_000 });

/** A NodePool that may use D sizes on demand. */
export const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: general }
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.azure.com, kind: AKSNodeClass, name: default }
      requirements:
        - { key: karpenter.azure.com/sku-family, operator: In, values: [D] }
        - { key: karpenter.sh/capacity-type, operator: In, values: [on-demand] }
---
apiVersion: karpenter.azure.com/v1beta1
kind: AKSNodeClass
metadata: { name: default }
spec: {}
`;

/** A Deployment, or another workload of that form, in one line of YAML. */
export function workload(
  kind: string,
  name: string,
  replicas: number,
  requests = '{ cpu: 500m, memory: 512Mi }',
): string {
  return `
apiVersion: apps/v1
kind: ${kind}
metadata: { name: ${name} }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec: { containers: [{ name: main, image: x, resources: { requests: ${requests} } }] }
`;
}

/** Plans manifests as if they came by standard input. */
export function planManifests(
  manifests: string | ReadonlyArray<string>,
  options: Partial<PlanOptions> = {},
): Promise<PlanOutcome> {
  const text = typeof manifests === 'string' ? manifests : manifests.join('\n---\n');
  const all: PlanOptions = {
    kind: 'plan',
    paths: ['-'],
    catalog: null,
    region: null,
    budgetMs: null,
    strict: false,
    output: 'json',
    ...options,
  };
  return planFromFiles(all, Readable.from([Buffer.from(text)]));
}

/** The plan of manifests, in its public form, with what was said beside it. */
export async function planDocument(
  manifests: string | ReadonlyArray<string>,
  options: Partial<PlanOptions> = {},
): Promise<PlanDocument & { readonly notes: ReadonlyArray<string>; readonly exitCode: number }> {
  const { text, notes, exitCode } = await planManifests(manifests, options);
  return { ...(JSON.parse(text) as PlanDocument), notes, exitCode };
}

/** All pods that the plan has a place for, by name. */
export function placedPods({ nodeClaims, nominations }: PlanDocument): ReadonlyArray<string> {
  return [...nodeClaims, ...nominations].flatMap(({ pods }) => pods).toSorted();
}

/** The lines that the user would see about wrong input. Fails when the input is taken. */
export async function problemsOf(
  manifests: string | ReadonlyArray<string>,
  options: Partial<PlanOptions> = {},
): Promise<ReadonlyArray<string>> {
  const error: unknown = await planManifests(manifests, options).then(
    () => new Error('the input was taken'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof WrongInputError) return error.message.split('\n');
  throw error;
}
