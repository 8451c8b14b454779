// A request before it is sent, as data that fast-check can make and shrink.

import type { DocumentedOperation } from '../support/openapi.ts'
import type { Pick } from './values.ts'

export type Kind = 'valid' | 'nearly valid' | 'hostile'

export interface Plan {
  operation: DocumentedOperation
  kind: Kind
  /** In words, one for each way in which it is broken. */
  broken: readonly string[]
  method: string
  /** The record that it is about; the rest of the path follows. */
  item: Pick | undefined
  tail: string
  query: readonly (readonly [string, unknown])[]
  /** Behind the query, as it is. */
  rawQuery: string
  /** The next page of a list, which stands for path and query. */
  next: Pick | undefined
  /** Which sign of that page's cursor becomes which. */
  tamper: { at: number; sign: string } | undefined
  headers: Readonly<Record<string, unknown>>
  body: unknown
  /** What must stand together in the body, as an earlier answer had it. */
  merged: Pick | undefined
  /** Changes the written body. */
  rewrite: ((text: string) => string | Buffer) | undefined
  /** What goes to the socket instead of all this. */
  bytes: ((path: string, key: string) => string) | undefined
  expects: 'a documented answer' | 'a refusal' | 'any answer'
}

/** A way to break a plan. */
export type Break = (plan: Plan) => Plan

/** The document may allow the result, or not. */
export const changed =
  (words: string, change: (plan: Plan) => Partial<Plan>): Break =>
  (plan) => ({ ...plan, ...change(plan), broken: [...plan.broken, words] })

/** Nobody may take the result. */
export const spoiled =
  (words: string, change: (plan: Plan) => Partial<Plan>): Break =>
  (plan) => ({ ...changed(words, change)(plan), expects: 'a refusal' })
