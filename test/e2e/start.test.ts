import { startCases, wrongUseCases } from './start-cases.ts';

wrongUseCases();
startCases('embedded');
