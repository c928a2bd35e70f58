/** A database imported as a file is its path; in an executable, of the copy inside. */
declare module '*.mmdb' {
  const path: string;
  export default path;
}
