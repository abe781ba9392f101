import type { Pod } from '../model/cluster.ts';
import { binsOf, type Bin } from './bins.ts';
import { compileShape, optionsOn, type CompiledShape, type PoolOption } from './compile-shape.ts';
import { daemonsOf } from './daemons.ts';
import { existingCapacity } from './existing-capacity.ts';
import type { OpenClaim } from './open-claim.ts';
import { podRequests } from './pod-requests.ts';
import { poolStates, type PoolState } from './pool-state.ts';
import type { ProvisioningInput } from './provisioning-input.ts';
import { dimensionsOf, type Dimensions } from './resource-table.ts';

/** One plan in the making: what was read once, and what placing changes. */
export interface Workspace {
  readonly input: ProvisioningInput;
  readonly dimensions: Dimensions;
  readonly pools: ReadonlyArray<PoolState>;
  readonly bins: ReadonlyArray<Bin>;
  /** In the order in which they were opened. */
  readonly claims: Array<OpenClaim>;
  /** By index into `Cluster.shapes`: the shapes of the pods to place. */
  readonly shapes: ReadonlyMap<number, CompiledShape>;
  /** The answers of `optionsFor` so far. */
  readonly options: Map<CompiledShape, Map<PoolState, ReadonlyArray<PoolOption>>>;
}

/** Reads `input` for placing `pods`. */
export function workspaceFor(input: ProvisioningInput, pods: ReadonlyArray<Pod>): Workspace {
  const { cluster } = input;
  const used = [...new Set(pods.map(({ shape }) => shape))].toSorted((a, b) => a - b);
  const specs = used.map((index) => cluster.shapes[index]).filter((shape) => shape !== undefined);
  const dimensions = dimensionsOf(specs.map(({ spec }) => podRequests(spec)));
  const daemons = daemonsOf(cluster);
  const existing = existingCapacity(input, daemons);
  const shapes = new Map<number, CompiledShape>();
  for (const index of used) {
    const shape = cluster.shapes[index];
    if (shape !== undefined) shapes.set(index, compileShape(index, shape, dimensions));
  }
  return {
    input,
    dimensions,
    pools: poolStates(input, dimensions, daemons, existing),
    bins: binsOf(existing, cluster, dimensions),
    claims: [],
    shapes,
    options: new Map(),
  };
}

/** How the shape can be on new nodes of the pool, worked out once. */
export function optionsFor(workspace: Workspace, state: PoolState, shape: CompiledShape): ReadonlyArray<PoolOption> {
  const known = workspace.options.get(shape) ?? new Map<PoolState, ReadonlyArray<PoolOption>>();
  workspace.options.set(shape, known);
  const options = known.get(state) ?? optionsOn(state, shape);
  known.set(state, options);
  return options;
}
