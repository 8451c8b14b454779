// Makes the methods of a resource from its table. One line of a table is one operation of the OpenAPI document.

import { CowryArgumentError } from './errors.ts'
import { type List, listPages } from './list.ts'
import type { ApiRequest, ApiResponse, Query, RequestOptions, Transport } from './transport.ts'

/**
 * One operation: method, path, and what its call takes and returns. `body` and `query`: an object after the path
 * parameters. `list`: pages of records. `file`: the response is a file.
 */
export type Operation = `${'GET' | 'POST' | 'PATCH' | 'DELETE'} /${string}`

/** The operations of a resource by the names of its methods. */
export type Resource<Methods> = { readonly [Name in keyof Methods]: Operation } & {
  /** Only for the type. */
  readonly methods?: Methods
}

/** The record of a response. `withResponse` also gives the request id and the headers. */
export interface ApiPromise<Data> extends Promise<Data> {
  withResponse(): Promise<ApiResponse<Data>>
}

/** The methods of a resource. */
export function bindResource<Methods>(transport: Transport, resource: Resource<Methods>): Methods {
  const methods = Object.entries<string>(resource).map(([name, operation]) => [
    name,
    (...values: unknown[]) => call(transport, operation, values),
  ])
  // A boundary: the generator writes the table and the type of its methods from the same operations.
  return Object.fromEntries(methods) as Methods
}

function call(
  transport: Transport,
  operation: string,
  values: unknown[],
): ApiPromise<unknown> | List<unknown> {
  const [method = '', template = '', ...flags] = operation.split(' ')
  let send = transport
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const segment = toSegment(values.shift())
    // The call rejects, as for every other failure; it does not throw before there is a promise.
    if (segment === undefined) send = () => Promise.reject(new CowryArgumentError(`${name} ${SEGMENT_RULE}`))
    return segment ?? ''
  })
  const has = (flag: string) => flags.includes(flag)
  // A boundary: the types of the methods say which values follow.
  const input = has('body') || has('query') ? (values.shift() as Query | undefined) : undefined
  const options = values.shift() as RequestOptions | undefined
  const request: ApiRequest = { method, path, isFile: has('file'), [has('body') ? 'body' : 'query']: input }
  return has('list') ? listPages(send, request, options) : toApiPromise(send(request, options))
}

const SEGMENT_RULE = 'must be a text that is not empty, not dots, and valid Unicode.'

/** One value in the path. An empty one or dots would name another operation, and half a character cannot be encoded. */
function toSegment(value: unknown): string | undefined {
  if (typeof value !== 'string' || /^\.{0,2}$|\p{Surrogate}/u.test(value)) return undefined
  return encodeURIComponent(value)
}

/** Unwraps the record. */
export function toApiPromise<Data>(answer: Promise<ApiResponse<Data>>): ApiPromise<Data> {
  const data = answer.then((response) => response.data)
  return Object.assign(data, {
    withResponse() {
      // The caller handles a failure through the other promise.
      data.catch(() => undefined)
      return answer
    },
  })
}
