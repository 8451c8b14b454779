// The client with the resources that a program names, so that a bundler leaves out the others.

import { type ApiPromise, bindResource, type Resource, toApiPromise } from './resource.ts'
import { type ApiRequest, type ClientOptions, createTransport, type RequestOptions } from './transport.ts'

export {
  type ClientErrorCode,
  CowryArgumentError,
  CowryConnectionError,
  CowryError,
  CowrySignatureError,
  type ErrorDetail,
} from './errors.ts'
export type { ErrorCode, ErrorType } from './generated/errors.ts'
export type { List, Page } from './list.ts'
export type { ApiPromise, Resource } from './resource.ts'
export type { ApiRequest, ApiResponse, ClientOptions, RequestOptions } from './transport.ts'
export { type UnwrapOptions, unwrap, type WebhookHeaders } from './webhooks.ts'

/** For an operation that this version does not have. Retries and errors are those of the other methods. */
export type SendRequest = <Data>(
  request: ApiRequest,
  options?: RequestOptions | undefined,
) => ApiPromise<Data>

/** The resources by their names, each with its methods. */
export type Client<Resources> = {
  readonly [Name in keyof Resources]: Resources[Name] extends { readonly methods?: infer Methods }
    ? NonNullable<Methods>
    : never
} & { readonly request: SendRequest }

/**
 * `createClient({ apiKey, baseUrl }, { payments, refunds })` with resources of `@cowry/sdk/resources`. `Cowry` has all of
 * them.
 */
export function createClient<Resources extends Readonly<Record<string, Resource<object>>>>(
  options: ClientOptions,
  resources: Resources,
): Client<Resources> {
  const transport = createTransport(options)
  const request: SendRequest = (one, requestOptions) => toApiPromise(transport(one, requestOptions))
  const bound = Object.entries(resources).map(([name, resource]) => [name, bindResource(transport, resource)])
  // A boundary: each resource is bound under its own name.
  return { request, ...Object.fromEntries(bound) } as Client<Resources>
}
