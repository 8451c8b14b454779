// A request before it is sent, as data that fast-check can make and shrink.

import type { DocumentedOperation } from '../support/openapi.ts'
import type { PoolValue } from './values.ts'

export type Kind = 'valid' | 'nearly valid' | 'hostile'

export interface Plan {
  operation: DocumentedOperation
  kind: Kind
  /** In label, one for each way in which it is mutations. */
  mutations: readonly string[]
  method: string
  /** The record that it is about; the rest of the path follows. */
  item: PoolValue | undefined
  tail: string
  query: readonly (readonly [string, unknown])[]
  /** Behind the query, as it is. */
  rawQuery: string
  /** The next page of a list, which stands for path and query. */
  next: PoolValue | undefined
  /** Which sign of that page's cursor becomes which. */
  tamper: { at: number; sign: string } | undefined
  headers: Readonly<Record<string, unknown>>
  body: unknown
  /** What must stand together in the body, as an earlier answer had it. */
  merged: PoolValue | undefined
  /** Changes the written body. */
  rewrite: ((text: string) => string | Buffer) | undefined
  /** What goes to the socket instead of all this. */
  bytes: ((path: string, key: string) => string) | undefined
  expects: 'a documented answer' | 'a refusal' | 'any answer'
}

/** A way to break a plan. */
export type Mutation = (plan: Plan) => Plan

/** The document may allow the result, or not. */
export const mutated =
  (label: string, change: (plan: Plan) => Partial<Plan>): Mutation =>
  (plan) => ({ ...plan, ...change(plan), mutations: [...plan.mutations, label] })

/** Nobody may take the result. */
export const invalidated =
  (label: string, change: (plan: Plan) => Partial<Plan>): Mutation =>
  (plan) => ({ ...mutated(label, change)(plan), expects: 'a refusal' })
