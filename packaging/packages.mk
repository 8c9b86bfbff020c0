# A release and packages of it, as the last commit has it: included by the Makefile.
DIST := foldfs-$(VERSION)

.PHONY: dist deb rpm reproducible
# The same bytes from the same commit: all times are that of the commit.
dist:
	$(Q)git archive --prefix=$(DIST)/ HEAD | xz -T1 >$(DIST).tar.xz

# Debian's tools want debian/ beside the sources. What comes out is in build-deb.
deb: dist
	$(Q)rm -rf build-deb && mkdir -p build-deb && tar -xf $(DIST).tar.xz -C build-deb
	$(Q)cp $(DIST).tar.xz build-deb/foldfs_$(VERSION).orig.tar.xz
	$(Q)cp -R build-deb/$(DIST)/packaging/debian build-deb/$(DIST)/
	$(Q)cd build-deb/$(DIST) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc $(DEBFLAGS)

# What comes out is in build-rpm/RPMS. RPMFLAGS=--nodeps on a system without rpm's packages.
rpm: dist
	$(Q)env -u MAKEFLAGS -u MAKELEVEL rpmbuild -ba --define '_topdir $(CURDIR)/build-rpm' \
		--define '_sourcedir $(CURDIR)' $(RPMFLAGS) packaging/rpm/foldfs.spec

reproducible:
	$(Q)sh packaging/reproducible.sh
