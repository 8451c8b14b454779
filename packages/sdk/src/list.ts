// Lists: await one page, or iterate over the records of all pages.

import type { PageMeta } from './generated/schemas.ts'
import type { ApiRequest, ApiResponse, RequestOptions, Transport } from './transport.ts'

export interface Page<Item> {
  data: Item[]
  meta: PageMeta
  requestId: string | undefined
}

/** Await it for one page. `for await` gives the records of this page and of those after it, and reads them as needed. */
export interface List<Item> extends Promise<Page<Item>>, AsyncIterable<Item> {}

export function listPages<Item>(
  transport: Transport,
  request: ApiRequest,
  options: RequestOptions | undefined,
): List<Item> {
  const read = async (cursor?: string): Promise<Page<Item>> => {
    // A cursor continues the list; the number of a page would contradict it.
    const query = cursor === undefined ? request.query : { ...request.query, page: undefined, cursor }
    return toPage(await transport<Item[]>({ ...request, query }, options))
  }
  const first = read()
  return Object.assign(first, {
    async *[Symbol.asyncIterator]() {
      for (let page = await first; ; ) {
        yield* page.data
        // Without a cursor the next request would read the first page again.
        if (!page.meta.nextCursor) return
        page = await read(page.meta.nextCursor)
      }
    },
  })
}

function toPage<Item>({ data, meta, requestId }: ApiResponse<Item[]>): Page<Item> {
  // A boundary: every list has it.
  return { data, meta: meta as PageMeta, requestId }
}
