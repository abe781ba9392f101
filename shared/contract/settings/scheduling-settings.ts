import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { readFeatureGates } from './feature-gates.ts';
import type { Settings } from './settings.ts';

/** A default spread: a topology spread constraint without selectors, which follow from each pod's controller. */
const Constraint = Type.Object(
  {
    maxSkew: Type.Integer({ minimum: 1 }),
    topologyKey: Type.String({
      pattern: '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
    }),
    whenUnsatisfiable: Type.Union([Type.Literal('DoNotSchedule'), Type.Literal('ScheduleAnyway')]),
    minDomains: Type.Optional(Type.Integer({ minimum: 1 })),
    nodeAffinityPolicy: Type.Optional(Type.Union([Type.Literal('Honor'), Type.Literal('Ignore')])),
    nodeTaintsPolicy: Type.Optional(Type.Union([Type.Literal('Honor'), Type.Literal('Ignore')])),
  },
  { additionalProperties: false },
);
type Constraint = Static<typeof Constraint>;

const SchedulerConfig = Type.Object(
  {
    podTopologySpread: Type.Optional(
      Type.Object({ defaultConstraints: Type.Optional(Type.Array(Constraint)) }, { additionalProperties: false }),
    ),
  },
  { additionalProperties: false },
);

/** How plans are made, in the form that the core takes. */
export interface PolicySettings {
  readonly preferencePolicy: 'Respect' | 'Ignore';
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  readonly defaultSpread: ReadonlyArray<Constraint>;
  readonly gates: {
    readonly nodeOverlay: boolean;
    readonly staticCapacity: boolean;
    readonly capacityBuffer: boolean;
    readonly reservedCapacity: boolean;
  };
}

/** Reads the options of scheduling. Throws an Error that names the setting and what it may be. */
export function readPolicy(
  settings: Pick<Settings, 'PREFERENCE_POLICY' | 'MIN_VALUES_POLICY' | 'FEATURE_GATES' | 'SCHEDULER_CONFIG'>,
): PolicySettings {
  const gates = readFeatureGates(settings.FEATURE_GATES ?? '');
  return {
    preferencePolicy: oneOf('PREFERENCE_POLICY', settings.PREFERENCE_POLICY, ['Respect', 'Ignore']),
    minValuesPolicy: oneOf('MIN_VALUES_POLICY', settings.MIN_VALUES_POLICY, ['Strict', 'BestEffort']),
    defaultSpread: readDefaultSpread(settings.SCHEDULER_CONFIG),
    gates: {
      nodeOverlay: gates.NodeOverlay,
      staticCapacity: gates.StaticCapacity,
      capacityBuffer: gates.CapacityBuffer,
      reservedCapacity: gates.ReservedCapacity,
    },
  };
}

/** Are pods with resource claims (DRA) left, as Karpenter does by default? Throws as `readPolicy` does. */
export function ignoresDevices({ IGNORE_DRA_REQUESTS: text }: Pick<Settings, 'IGNORE_DRA_REQUESTS'>): boolean {
  return oneOf('IGNORE_DRA_REQUESTS', text, ['true', 'false']) === 'true';
}

/** Is a new node kept for its planned pods until they have come? Throws as `readPolicy` does. */
export function dedicatesNodes({ RESERVE_NODES: text }: Pick<Settings, 'RESERVE_NODES'>): boolean {
  return oneOf('RESERVE_NODES', text, ['true', 'false']) === 'true';
}

/** The first choice is the default. */
function oneOf<const Choice extends string>(
  name: string,
  text: string | undefined,
  choices: readonly [Choice, ...ReadonlyArray<Choice>],
): Choice {
  const found = text === undefined ? choices[0] : choices.find((choice) => choice === text);
  if (found === undefined) throw new Error(`app setting ${name} is ${text}; it may be ${choices.join(' or ')}`);
  return found;
}

function readDefaultSpread(text: string | undefined): ReadonlyArray<Constraint> {
  if (text === undefined) return [];
  const config = parseConfig(text);
  const constraints = config.podTopologySpread?.defaultConstraints ?? [];
  const ids = constraints.map(({ topologyKey, whenUnsatisfiable }) => `${topologyKey} ${whenUnsatisfiable}`);
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined) throw wrongConfig(`${repeated} is listed twice`);
  if (constraints.some((one) => one.minDomains !== undefined && one.whenUnsatisfiable !== 'DoNotSchedule')) {
    throw wrongConfig('minDomains goes with DoNotSchedule only');
  }
  return constraints;
}

function parseConfig(text: string): Static<typeof SchedulerConfig> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw wrongConfig('it cannot be read as JSON, which is YAML too', cause);
  }
  if (Value.Check(SchedulerConfig, value)) return value;
  const [first] = Value.Errors(SchedulerConfig, value);
  throw wrongConfig(`${first?.instancePath ?? ''} ${first?.message ?? 'is not of the right form'}`);
}

function wrongConfig(problem: string, cause?: unknown): Error {
  const example =
    '{"podTopologySpread": {"defaultConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}]}}';
  return new Error(`app setting SCHEDULER_CONFIG: ${problem}; write it as ${example}`, { cause });
}
