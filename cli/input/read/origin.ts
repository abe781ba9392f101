/** Where something came from, for messages: `pool.yaml`, `pool.yaml, document 2` or `pods.json, item 3`. */
export type Origin = string;
