import type { RefusalScope } from '../../ports/cloud.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** What an error of Azure's means for the offering that was tried. */
export type LaunchVerdict =
  | {
      readonly kind: 'unavailable';
      readonly scope: RefusalScope;
      readonly retryAfterMs: number;
      readonly reason: string;
    }
  /** No offering helps until a person changes something. */
  | { readonly kind: 'rejected'; readonly reason: string };

interface Rule {
  readonly code: string;
  /** A part of the message, in any case; empty: any message. */
  readonly text: string;
  readonly verdict: LaunchVerdict;
}

function unavailable(scope: RefusalScope, retryAfterMs: number, reason: string): LaunchVerdict {
  return { kind: 'unavailable', scope, retryAfterMs, reason };
}

function rejected(reason: string): LaunchVerdict {
  return { kind: 'rejected', reason };
}

/**
 * First match wins. Codes, scopes and times of the first nine as Karpenter's Azure provider has them (2026-08); quota of
 * the whole region, which it retries at once, waits three minutes; the rest are codes it does not know.
 */
const rules: ReadonlyArray<Rule> = [
  {
    code: 'OperationNotAllowed',
    text: 'LowPriorityCores',
    verdict: unavailable('spot', HOUR, 'SubscriptionQuotaReached'),
  },
  {
    code: 'OperationNotAllowed',
    text: 'Current Limit: 0',
    verdict: unavailable('family', HOUR, 'SubscriptionQuotaReached'),
  },
  {
    code: 'OperationNotAllowed',
    text: 'Family Cores quota',
    verdict: unavailable('family', 10 * MINUTE, 'SubscriptionQuotaReached'),
  },
  {
    code: 'OperationNotAllowed',
    text: 'Total Regional',
    verdict: unavailable('region', 3 * MINUTE, 'RegionalQuotaReached'),
  },
  { code: 'SkuNotAvailable', text: '', verdict: unavailable('size', HOUR, 'SKUNotAvailable') },
  { code: 'ZonalAllocationFailed', text: '', verdict: unavailable('zone', HOUR, 'ZonalAllocationFailure') },
  { code: 'AllocationFailed', text: '', verdict: unavailable('zone', HOUR, 'AllocationFailure') },
  {
    code: 'OverconstrainedZonalAllocationRequest',
    text: '',
    verdict: unavailable('offering', HOUR, 'OverconstrainedZonalAllocationFailure'),
  },
  {
    code: 'OverconstrainedAllocationRequest',
    text: '',
    verdict: unavailable('size', HOUR, 'OverconstrainedAllocationFailure'),
  },
  { code: 'VMSizeNotSupported', text: '', verdict: unavailable('size', 23 * HOUR, 'SKUNotAvailable') },
  {
    code: 'BadRequest',
    text: 'is not supported for subscription',
    verdict: unavailable('size', 23 * HOUR, 'SKUNotAvailable'),
  },
  { code: 'NotAvailableForSubscription', text: '', verdict: unavailable('size', 23 * HOUR, 'SKUNotAvailable') },
  { code: 'SpotNotSupported', text: '', verdict: unavailable('size', 23 * HOUR, 'SpotNotSupported') },
  { code: 'QuotaExceeded', text: '', verdict: unavailable('family', 10 * MINUTE, 'SubscriptionQuotaReached') },
  {
    code: 'OperationNotAllowed',
    text: 'quota',
    verdict: unavailable('family', 10 * MINUTE, 'SubscriptionQuotaReached'),
  },
  // The class's disk is smaller than its image: no size helps.
  { code: 'OperationNotAllowed', text: 'disk size', verdict: rejected('OSDiskTooSmall') },
  // The size has no room of its own for the class's disk, by Azure's way of counting.
  { code: 'NotSupported', text: 'ephemeral', verdict: unavailable('size', 23 * HOUR, 'EphemeralOSDiskNotSupported') },
  { code: 'OSProvisioningTimedOut', text: '', verdict: unavailable('offering', 3 * MINUTE, 'OSProvisioningTimedOut') },
  {
    code: 'OSProvisioningInternalError',
    text: '',
    verdict: unavailable('offering', 3 * MINUTE, 'OSProvisioningInternalError'),
  },
  { code: 'SubnetIsFull', text: '', verdict: rejected('SubnetIsFull') },
  { code: 'InsufficientSubnetSize', text: '', verdict: rejected('SubnetIsFull') },
  { code: 'RequestDisallowedByPolicy', text: '', verdict: rejected('RequestDisallowedByPolicy') },
  { code: 'InvalidTemplateDeployment', text: '', verdict: rejected('InvalidTemplateDeployment') },
  { code: 'ReadOnlyDisabledSubscription', text: '', verdict: rejected('SubscriptionDisabled') },
  { code: 'AuthorizationFailed', text: '', verdict: rejected('AuthorizationFailed') },
  { code: 'LinkedAuthorizationFailed', text: '', verdict: rejected('AuthorizationFailed') },
];

/** Null for an error that says nothing about the offering: the caller decides by the HTTP status. */
export function classifyLaunchError(code: string, message: string): LaunchVerdict | null {
  const lower = message.toLowerCase();
  const rule = rules.find((one) => one.code === code && lower.includes(one.text.toLowerCase()));
  return rule?.verdict ?? null;
}

/** What the error table has for an on-demand size that is not available: it does not come back for a day. */
export const ON_DEMAND_SKU_PAUSE_MS: number = 23 * HOUR;
