// The address of a form is in the browser while its answer is shown, such as why it was refused. A person who opens it again, or
// in another language, gets to the nearest page above it.

import type { PageRoute } from '../kit/http/route.ts'
import { addressOf, changeLanguage } from './frame/request.ts'

/** The routes, and one for each form whose address has no page. */
export function withFormAddresses(routes: readonly PageRoute[]): PageRoute[] {
  const pages = new Set(routes.filter(({ method }) => method === 'GET').map(({ path }) => shapeOf(path)))
  const forms = routes.filter(({ method, path }) => method === 'POST' && !pages.has(shapeOf(path)))
  return [...routes, ...forms.map(({ path }) => leadUp(path, pages))]
}

/** Routes name the same parameter differently. */
const shapeOf = (path: string) => path.replaceAll(/\{\w+\}/g, '{}')

function leadUp(path: string, pages: ReadonlySet<string>): PageRoute {
  const parts = path.split('/')
  const length = parts.findLastIndex((_, at) => pages.has(shapeOf(parts.slice(0, at).join('/'))))
  return {
    method: 'GET',
    path,
    handle: async ({ path: opened, query }) => {
      const page = { path: opened.split('/').slice(0, length).join('/'), query }
      return changeLanguage(page) ?? { http: 303, redirectTo: addressOf(page) }
    },
  }
}
