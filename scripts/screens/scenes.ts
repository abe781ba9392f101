/** A moment of the sandbox that is worth a picture. */
export interface Scene {
  /** Of its recording, and its title. */
  readonly name: string;
  readonly title: string;
  /** How to see it oneself, as typed, and what to do then. */
  readonly command: string;
  readonly next: string;
  /** What to look for. */
  readonly shows: string;
}

/** All of them, in the order in which a newcomer meets them. `record.ts` has what it does for each. */
export const scenes: ReadonlyArray<Scene> = [
  {
    name: 'start',
    title: 'The start',
    command: 'npm start',
    next: 'Wait until all ten pods run.',
    shows:
      'The screen shows two nodes, their price per hour, and how much of each node the pods request. The first line says how far the plan can be from the cheapest one.',
  },
  {
    name: 'many-pods',
    title: '200 pods',
    command: 'npm start',
    next: 'Scale to 200 replicas.',
    shows:
      'Some of the new nodes are ready, others boot or join the cluster. If the screen has too few lines, both nodes and news get a part of them.',
  },
  {
    name: 'spot-eviction',
    title: 'Azure evicts a spot VM',
    command: 'npm start -- -f examples/spot.yaml',
    next: 'Press `e` when all pods run.',
    shows: 'The notice is 30 s long, so the pods are evicted at once. Their new node is created at the same moment.',
  },
  {
    name: 'sold-out',
    title: 'Spot is sold out',
    command: "npm start -- -f examples/spot.yaml --azure noCapacity='*/*/spot'",
    next: 'Wait.',
    shows:
      'Azure refuses several spot VMs. Then Nodewright asks for no spot VM in this region for a while, and creates an on-demand node instead.',
  },
  {
    name: 'quota',
    title: 'A quota is used up',
    command: 'npm start -- --quota cores=6',
    next: 'Wait.',
    shows: 'Some pods run. The line with `!` names the quota, how much of it is used, and what would be enough.',
  },
  {
    name: 'budget',
    title: 'A PodDisruptionBudget blocks a drain',
    command: 'npm start',
    next: 'Create a PodDisruptionBudget that allows no evictions, and delete a NodeClaim.',
    shows:
      'The node keeps its pods, and is paid for until they may be evicted. The line with `!` names the PodDisruptionBudget.',
  },
  {
    name: 'consolidation',
    title: 'Consolidation',
    command: 'npm start',
    next: 'Scale to 20 replicas, scale back to 10, and press `d`.',
    shows:
      'Each removal says its reason, how many pods move, and what it saves. The first line adds up what was saved.',
  },
  {
    name: 'startup-taint',
    title: 'A startup taint stays',
    command: 'npm start -- -f pool.yaml -f examples/inflate.yaml',
    next: 'The NodePool of `pool.yaml` has the startup taint `example.com/agent-not-ready:NoExecute`, which no component removes.',
    shows: 'The nodes are not counted as ready, and the line with `!` names the taint that they wait for.',
  },
];
