// A request before it is sent, as data that fast-check can generate and shrink.

import type { DocumentedOperation } from '../support/openapi.ts'
import type { PoolValue } from './values.ts'

export type Kind = 'valid' | 'nearly valid' | 'hostile'

export interface Plan {
  operation: DocumentedOperation
  kind: Kind
  /** One label for each mutation. */
  mutations: readonly string[]
  method: string
  /** The record of the request; the rest of the path follows. */
  item: PoolValue | undefined
  tail: string
  query: readonly (readonly [string, unknown])[]
  /** Appended to the query without encoding. */
  rawQuery: string
  /** The next page of a list, which replaces path and query. */
  next: PoolValue | undefined
  /** The character of that page's cursor to change, and its replacement. */
  tamper: { at: number; sign: string } | undefined
  headers: Readonly<Record<string, unknown>>
  body: unknown
  /** Linked fields of the body, as an earlier response had them. */
  merged: PoolValue | undefined
  /** Changes the serialized body. */
  rewrite: ((text: string) => string | Buffer) | undefined
  /** Raw bytes for the socket instead of all this. */
  bytes: ((path: string, key: string) => string) | undefined
  expects: 'a documented answer' | 'a refusal' | 'any answer'
}

/** A mutation of a plan. */
export type Mutation = (plan: Plan) => Plan

/** The result may be valid or invalid by the document. */
export const mutated =
  (label: string, change: (plan: Plan) => Partial<Plan>): Mutation =>
  (plan) => ({ ...plan, ...change(plan), mutations: [...plan.mutations, label] })

/** The service must reject the result. */
export const invalidated =
  (label: string, change: (plan: Plan) => Partial<Plan>): Mutation =>
  (plan) => ({ ...mutated(label, change)(plan), expects: 'a refusal' })
