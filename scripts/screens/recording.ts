import type { AppEvent } from '../../sandbox/start/view/app-events.ts';
import type { ClusterEvent, NodeClaim } from '../../sandbox/start/view/cluster-objects.ts';
import type { PodDisruptionBudget } from '../../sandbox/start/view/held-up.ts';
import type { Sentence, View } from '../../sandbox/start/view/view.ts';
import type { Progress } from '../../sandbox/start/screen/display.ts';
import type { Node, Pod } from '../../sandbox/kubernetes/client/objects.ts';

/** What a run of the sandbox had seen and logged at one moment: everything that its screen is made of. */
export interface Recording {
  /** What the cluster was, with those fields only that the screen reads. */
  readonly pods: ReadonlyArray<Pod>;
  readonly nodes: ReadonlyArray<Node>;
  readonly claims: ReadonlyArray<NodeClaim>;
  readonly budgets: ReadonlyArray<PodDisruptionBudget>;
  readonly events: ReadonlyArray<ClusterEvent>;
  /** Every NodeClaim of the run as it was when it was first seen, with the time since the start in milliseconds. */
  readonly created: ReadonlyArray<{ readonly atMs: number; readonly claim: NodeClaim }>;
  /** What the app logged, with the time since the start in milliseconds. */
  readonly log: ReadonlyArray<AppEvent & { readonly atMs: number }>;
  /** Sentences that do not come from the app's log: those of Azure, of AKS's components, and of keys. */
  readonly said: ReadonlyArray<Sentence>;
  readonly shortages: View['shortages'];
  readonly disruption: Progress['disruption'];
  readonly deployment: string | null;
  readonly kubeconfigPath: string;
  readonly startedAt: number;
  readonly elapsedMs: number;
}
