import { edgeConformance } from './edge.conformance.ts';

edgeConformance('varnish');
