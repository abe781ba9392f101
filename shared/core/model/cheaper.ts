import type { SelectorRequirement, Taint } from '../../kubernetes/manifest.ts';
import type { MicroUsdPerHour } from '../quantity/units.ts';

/**
 * Why an offering that costs less than a claim's was not chosen: the first rule that ruled it out. `pod` is one of the
 * claim's pods, as `namespace/name`. Quantities are exact, as Kubernetes writes them.
 */
export type CheaperReason =
  | { readonly kind: 'taint'; readonly pod: string; readonly taint: Taint }
  | { readonly kind: 'pod-requirement'; readonly pod: string; readonly wanted: ReadonlyArray<SelectorRequirement> }
  /** As a requirement, but one that would be given up where nothing meets it. */
  | { readonly kind: 'pod-preference'; readonly pod: string }
  /** A volume of the pod is, or may only be, elsewhere. */
  | { readonly kind: 'volume'; readonly pod: string }
  /** A daemonset takes a host port of the pod's there. */
  | { readonly kind: 'host-port'; readonly pod: string }
  /** The devices that the pod claims (DRA) were not found there. */
  | { readonly kind: 'devices'; readonly pod: string }
  /** `wanted` by the claim's pods; `has`: what such a node has for them beside the daemonsets. */
  | { readonly kind: 'too-small'; readonly resource: string; readonly wanted: string; readonly has: string }
  /** Azure has refused it lately, or quota does not allow it. */
  | { readonly kind: 'unavailable' }
  /** A burstable or retired size that the pool does not name. */
  | { readonly kind: 'shunned'; readonly why: 'burstable' | 'retired' }
  /** It is evicted so often that it counts as no less than what was chosen: both as weighed prices. */
  | {
      readonly kind: 'eviction-risk';
      readonly evictionsPerHour: number;
      readonly weighedPrice: MicroUsdPerHour;
      readonly chosenWeighedPrice: MicroUsdPerHour;
    }
  /** The same, for so many spot machines like it that were evicted a short while ago; it counts so `until` then. */
  | {
      readonly kind: 'spot-storm';
      readonly evicted: number;
      readonly of: number;
      /** Where it is not about evictions: sizes of which there was no spot in its zone. Else 0. */
      readonly refusedSizes: number;
      readonly until: string;
      readonly weighedPrice: MicroUsdPerHour;
      readonly chosenWeighedPrice: MicroUsdPerHour;
    }
  /** The claim's pool is heavier, and can take the pods. */
  | { readonly kind: 'weight' }
  /** With the claim's pods in another domain of the key, some rule about other pods would not hold. */
  | { readonly kind: 'topology'; readonly key: string }
  | { readonly kind: 'limit'; readonly resource: string; readonly wanted: string; readonly left: string }
  | { readonly kind: 'min-values'; readonly keys: ReadonlyArray<string> }
  /** It would hold the claim's pods. The search for a cheap plan is not exhaustive, and did not come to it. */
  | { readonly kind: 'overlooked' };
