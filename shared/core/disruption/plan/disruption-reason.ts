/** Why a node goes. The first three are Karpenter's, by which budgets choose; the others ask no budget. */
export type DisruptionReason = 'Empty' | 'Underutilized' | 'Drifted' | 'Expired' | 'Unhealthy' | 'StaticSurplus';

/** The reasons of our own choice: budgets and brakes of NodePools know these and no others. */
export const VOLUNTARY_REASONS = [
  'Empty',
  'Underutilized',
  'Drifted',
] as const satisfies ReadonlyArray<DisruptionReason>;

/** Does a node that goes for the reason go of our own choice? What must go whatever it costs asks no budget. */
export function isVoluntary(reason: string): boolean {
  return VOLUNTARY_REASONS.some((one) => one === reason);
}
