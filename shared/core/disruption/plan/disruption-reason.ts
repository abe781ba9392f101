/** Why a node goes. The first three are Karpenter's, by which budgets choose; the others ask no budget. */
export type DisruptionReason = 'Empty' | 'Underutilized' | 'Drifted' | 'Expired' | 'Unhealthy' | 'StaticSurplus';
