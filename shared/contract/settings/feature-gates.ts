/** Karpenter's feature gates and their defaults. Source: its option table, v1.14. */
const GATE_DEFAULTS = {
  NodeRepair: false,
  ReservedCapacity: true,
  SpotToSpotConsolidation: false,
  NodeOverlay: false,
  StaticCapacity: false,
  CapacityBuffer: false,
} as const;
type Gate = keyof typeof GATE_DEFAULTS;

/**
 * Reads `A=true,B=false`; gates that are not named have Karpenter's defaults. Throws an Error that names the setting
 * and what it may be.
 */
export function readFeatureGates(text: string): Readonly<Record<Gate, boolean>> {
  const gates: Record<Gate, boolean> = { ...GATE_DEFAULTS };
  for (const part of text.split(',').map((one) => one.trim())) {
    if (part === '') continue;
    const [name = '', value] = part.split('=').map((one) => one.trim());
    if (!isGate(name) || (value !== 'true' && value !== 'false')) {
      const known = Object.keys(GATE_DEFAULTS).join(', ');
      throw new Error(
        `app setting FEATURE_GATES has ${part}; write NAME=true or NAME=false, with NAME one of ${known}`,
      );
    }
    gates[name] = value === 'true';
  }
  return gates;
}

function isGate(name: string): name is Gate {
  return Object.hasOwn(GATE_DEFAULTS, name);
}
