import { classifyLaunchError } from '../../shared/adapters/azure/machines/classify-launch-error.ts';
import { isCovered, type Refusal, toRefusal } from '../../shared/adapters/azure/catalog/refusals.ts';
import type { Sku } from '../../shared/adapters/azure/catalog/sku.ts';
import { microUsdPerHour } from '../../shared/core/quantity/units.ts';
import type { RefusalScope } from '../../shared/ports/cloud.ts';
import type { PossibleMachine } from './possible-machines.ts';

/** A refusal as the product logs it. */
export interface LoggedRefusal {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: 'spot' | 'on-demand';
  /** The product's word for it. */
  readonly reason: string;
  /** Azure's own. */
  readonly message: string;
}

/** Refusals for quota that the product remembers, and so does not ask again. */
export interface QuotaRefusals {
  /** Told of every refusal; keeps those for quota. */
  readonly tell: (refusal: LoggedRefusal, nowMs: number) => void;
  /** The quota for which a machine is not asked for now; null when none. */
  readonly reasonFor: (machine: PossibleMachine, nowMs: number) => string | null;
}

const REASONS: ReadonlySet<string> = new Set(['SubscriptionQuotaReached', 'RegionalQuotaReached']);
/** The one code that Azure refuses with for quota. */
const CODE = 'OperationNotAllowed';

/** Makes a memory that lasts as long as the product's own, by its own table. */
export function createQuotaRefusals(skus: ReadonlyMap<string, Sku>): QuotaRefusals {
  let refusals: ReadonlyArray<Refusal> = [];
  return {
    tell: ({ instanceType, zone, capacityType, reason, message }, nowMs) => {
      const verdict = classifyLaunchError({ code: CODE, target: '', message });
      if (!REASONS.has(reason) || verdict?.kind !== 'unavailable') return;
      const offering = { instanceType, zone, capacityType, price: microUsdPerHour(0) };
      const { scope, retryAfterMs } = verdict;
      const refused = { scope, offering, untilMs: nowMs + retryAfterMs, reason };
      const lasting = refusals.filter(({ untilMs }) => untilMs > nowMs);
      refusals = [...lasting, toRefusal(refused, skus.get(instanceType) ?? null, nowMs)];
    },
    reasonFor: ({ sku, zone, capacityType }, nowMs) => {
      const found = refusals.find((refusal) => isCovered([refusal], sku, zone, capacityType, nowMs));
      return found === undefined ? null : quotaNameOf(found.scope, sku);
    },
  };
}

function quotaNameOf(scope: RefusalScope, { quotaFamily }: Sku): string {
  if (scope === 'region') return 'cores';
  return scope === 'spot' ? 'lowPriorityCores' : quotaFamily;
}
