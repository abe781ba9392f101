import { orderCases, startCases, wrongUseCases } from './start-cases.ts';

wrongUseCases();
orderCases();
startCases('embedded');
