// Loaded into a service process by NODE_OPTIONS: a signal makes it throw an uncaught error.

process.on('SIGUSR2', () => {
  throw new Error('a test threw this')
})

process.on('SIGHUP', () => {
  void Promise.reject(new Error('a test rejected this'))
})
