import { expect, test } from 'vitest';
import { readStatedDevices } from '../../../../../shared/contract/api/annotations/stated-devices.ts';

const AT = 'metadata.annotations[nodewright.dev/resource-slices]';
const gpu = { name: 'gpu-0', attributes: { model: { string: 'a100' } }, capacity: { memory: { value: '80Gi' } } };

function read(content: unknown) {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return readStatedDevices({ annotations: { 'nodewright.dev/resource-slices': text } });
}

test('a pool without the annotation states nothing, and nothing is wrong with it', () => {
  expect(readStatedDevices({})).toEqual({ byType: new Map(), problems: [] });
});

test('slices are read by instance type', () => {
  const slices = [{ driver: 'gpu.example.com', devices: [gpu] }];
  expect(read({ N8: slices })).toEqual({ byType: new Map([['N8', slices]]), problems: [] });
});

const counter = { counterSet: 'card', counters: { memory: { value: '40Gi' } } };

test.each([
  ['text that is no JSON', '{', AT, 'is not a JSON object of slices by instance type'],
  ['a list', '[]', AT, 'is not a JSON object of slices by instance type'],
  ['a type without a list', { N8: {} }, `${AT}[N8]`, 'is of type object'],
  ['a slice without a driver', { N8: [{ devices: [] }] }, `${AT}[N8][0].driver`, 'is missing'],
  [
    'a slice with a place',
    { N8: [{ driver: 'd', nodeName: 'x', devices: [gpu] }] },
    `${AT}[N8][0].nodeName`,
    'says where a device is, which a node to come cannot',
  ],
  [
    'a device with a field that there is not',
    { N8: [{ driver: 'd', devices: [{ ...gpu, memory: '80Gi' }] }] },
    `${AT}[N8][0].devices[0].memory`,
    'is not a field here',
  ],
  [
    'a capacity that is no quantity',
    { N8: [{ driver: 'd', devices: [{ ...gpu, capacity: { memory: { value: '80 GB' } } }] }] },
    `${AT}[N8][0].devices[0].capacity[memory].value`,
    '"80 GB" does not have the right form',
  ],
  [
    'an attribute of two values',
    { N8: [{ driver: 'd', devices: [{ ...gpu, attributes: { model: { string: 'x', int: 1 } } }] }] },
    `${AT}[N8][0].devices[0].attributes[model]`,
    'has 2 values',
  ],
  [
    'two devices of one name',
    {
      N8: [
        { driver: 'd', devices: [gpu] },
        { driver: 'd', devices: [gpu] },
      ],
    },
    `${AT}[N8][1].devices[0].name`,
    'gpu-0 is listed twice for d',
  ],
  [
    'a counter that there is not',
    { N8: [{ driver: 'd', devices: [{ ...gpu, consumesCounters: [counter] }] }] },
    `${AT}[N8][0].devices[0].consumesCounters[0].counters[memory]`,
    'card has no such counter',
  ],
])('%s is told with its field', (_, content, path, message) => {
  expect(read(content).problems).toMatchObject([{ path, message }]);
});
