import type { RefusalScope } from '../../../ports/cloud.ts';

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

/** What of a refusal the rules read. */
export interface RefusedLaunch {
  readonly code: string;
  /** The member of the request that Azure refuses; empty where it names none. */
  readonly target: string;
  readonly message: string;
}

interface Rule {
  readonly code: string;
  /** What Azure names as refused, in any case; absent: anything, or nothing. */
  readonly target?: string;
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

/** The size cannot be had here, or takes none of the image: it stays so for a day. */
const sizeRefused = unavailable('size', 23 * HOUR, 'VMSizeRefused');

/**
 * First match wins: the code and what Azure names as refused decide before words do. Codes, scopes and times of quotas,
 * SKUs and allocation as Karpenter's Azure provider has them (2026-08); quota of the whole region, which it retries at
 * once, waits three minutes, and is told before a family's, as both may say that the limit is 0; the rest are codes it
 * does not know.
 */
const rules: ReadonlyArray<Rule> = [
  {
    code: 'OperationNotAllowed',
    text: 'LowPriorityCores',
    verdict: unavailable('spot', HOUR, 'SubscriptionQuotaReached'),
  },
  {
    code: 'OperationNotAllowed',
    text: 'Total Regional',
    verdict: unavailable('region', 3 * MINUTE, 'RegionalQuotaReached'),
  },
  // Azure's wording until 2019 or so: the cores of the region are called Core, those of a family by its name.
  {
    code: 'OperationNotAllowed',
    text: 'quota limits of Core.',
    verdict: unavailable('region', 3 * MINUTE, 'RegionalQuotaReached'),
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
  // Spot of that size, as Azure's page of errors of spot VMs has them (2026).
  {
    code: 'AzureSpotIsNotSupportedForThisVMSize',
    text: '',
    verdict: unavailable('size', 23 * HOUR, 'SpotNotSupported'),
  },
  {
    code: 'AzureSpotFeatureNotEnabledForSubscription',
    text: '',
    verdict: unavailable('spot', HOUR, 'SpotNotEnabled'),
  },
  // No disk controller or generation of the image's, not in this region, a name that is none: with a target since 2017
  // or so.
  { code: 'InvalidParameter', target: 'vmSize', text: '', verdict: sizeRefused },
  { code: 'InvalidParameter', target: '', text: 'VM size', verdict: sizeRefused },
  { code: 'BadRequest', target: 'vmSize', text: '', verdict: sizeRefused },
  { code: 'BadRequest', target: '', text: 'VM size', verdict: sizeRefused },
  { code: 'VMSizeIsNotPermittedToEnableAcceleratedNetworking', text: '', verdict: sizeRefused },
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
export function classifyLaunchError({ code, target, message }: RefusedLaunch): LaunchVerdict | null {
  // Some name it by its path, such as `properties.hardwareProfile.vmSize`.
  const named = target.toLowerCase().split('.').at(-1);
  const lower = message.toLowerCase();
  const rule = rules.find(
    (one) =>
      one.code === code &&
      (one.target === undefined || one.target.toLowerCase() === named) &&
      lower.includes(one.text.toLowerCase()),
  );
  return rule?.verdict ?? null;
}

/** What the error table has for an on-demand size that is not available: it does not come back for a day. */
export const ON_DEMAND_SKU_PAUSE_MS: number = 23 * HOUR;
