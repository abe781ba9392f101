import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { chosenIn, renderKept } from '../../../../../cli/deploy/target/choices.ts';

const azdParameters = readFileSync('infra/main.parameters.json', 'utf8');
const told = { azdParameters, said: {}, published: null };

test('a parameter whose value Azure does not tell, as a secure one, stops nothing', () => {
  const declared = { parameters: { secret: { type: 'securestring', defaultValue: '' } } };
  const parameters = chosenIn({ secret: undefined }, declared, null);
  expect(renderKept({ variables: {}, parameters }, { at: 'x' }, told)).toEqual([]);
});
